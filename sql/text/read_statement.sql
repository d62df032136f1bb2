-- What does a statement say, as far as words give it away? Its topic, polarity, mood and time, and subject, predicate
-- and value (see type loci_internal.statement). Shallow: no grammar, a lexicon of some hundred words and the order they
-- stand in. Words behind one like `since` or `because` are not the statement; words behind a comma are not its value.
-- Opposites in the subject (open issues) are part of the topic. Pure; about 0.2 ms.
create or replace function loci_internal.read_statement(p_text text) returns loci_internal.statement
language plpgsql immutable parallel safe set search_path = ''
set plan_cache_mode = force_generic_plan
as $$
declare
    v_read loci_internal.statement;
begin
    with word as materialized (
        select w.place, w.word, s.stem, w.word ~ '^[0-9]' as number, lead(w.word) over (order by w.place) as next
        from unnest(loci_internal.statement_words(p_text)) with ordinality w(word, place)
        cross join lateral loci_internal.word_stem(w.word) s(stem)
    ), classed as materialized (
        select w.*, case when w.word in ('has', 'have', 'had') and w.next ~ '^[0-9]' then 'count'
                         else coalesce(l.words ->> (w.stem || '_' || w.next), l.words ->> w.word,
                                       case when l.words ->> w.stem in ('fn', 'count', 'change', 'cumul', 'role',
                                                                        'day', 'month', 'color', 'state', 'level')
                                                                            then l.words ->> w.stem end) end as class,
               o.sides -> w.stem as sides
        from word w cross join (select loci_internal.statement_lexicon() as words) l
        cross join (select loci_internal.antonym_sides() as sides) o
    ), bounds as materialized (
        select coalesce(min(c.place) filter (where c.class in ('tail', 'until') and c.place > 2), 1000000) as tail,
               min(c.place) filter (where c.class = 'be') as be,
               min(c.place) filter (where c.class in ('fn', 'change') or c.class = 'count'
                                    and c.next ~ '^[0-9]') as verb
        from classed c
    ), predicate as materialized (
        select b.tail, p.place, c.class, c.stem, c.next,
               coalesce((select min(k.place) from classed k where k.class = 'comma' and k.place > p.place),
                        1000000) as comma
        from bounds b
        cross join lateral (select case when b.verb is null or b.be < b.verb and exists (
                select from classed m where m.place > b.be and m.place < b.verb and
                    coalesce(m.class, 'x') not in ('be', 'now', 'soft', 'neg', 'past', 'then', 'fix', 'stop'))
            then b.be else b.verb end as place) p
        left join classed c on c.place = p.place
    ), said as materialized (
        select c.*,
               (c.class is null or c.class in ('fn', 'count', 'change', 'cumul', 'role', 'day', 'month', 'color',
                                               'state', 'level'))
                    and c.place < p.tail as topical, p.place as at
        from classed c cross join predicate p
    )
    select array_agg(s.stem order by s.place)
        filter (where s.class is distinct from 'article' and s.class is distinct from 'comma'),
           array_agg(s.stem order by s.place) filter (where s.topical),
           array_agg(distinct s.stem) filter (where s.topical and not s.number),
           array_agg(s.word order by s.place) filter (where s.class = 'neg'),
           array_agg(s.word order by s.place)
        filter (where s.class in ('past', 'then') or s.class = 'until' and exists (
               select from said e where e.place < s.place and (e.word like '%ed' or e.word in ('was', 'were', 'had')))),
           array_agg(s.word order by s.place) filter (where s.class = 'now'),
           coalesce(bool_or(s.class = 'also'), false),  -- a class is null where the lexicon has no word
           array_agg(distinct s.word) filter (where s.class = 'mood'),
           (select array_agg(k.key order by k.key, e.place) from said e
            cross join lateral jsonb_array_elements_text(e.sides) k(key)
            where (e.at is null or e.place >= e.at or s0.verbal)),
           (select array_agg(e.stem order by k.key, e.place) from said e
            cross join lateral jsonb_array_elements_text(e.sides) k(key)
            where (e.at is null or e.place >= e.at or s0.verbal)),
           array_agg(s.stem order by s.place) filter (where s.topical and s.place < p.place),
           max(case p.class when 'be' then 'be' || case
               when p.next in ('in', 'on', 'at', 'with', 'about', 'by', 'from', 'for', 'of') then ' ' || p.next
                   else '' end
                            else p.stem end),
           max(p.class),
           array_agg(s.stem order by s.place) filter (where s.topical and s.place > p.place and s.place < p.comma),
           null, null,
           array_agg(s.word order by s.place) filter (where s.word ~ '^(19|20)\d\d$' and s.place > p.place + 2
                                                      and s.place < p.tail),
           coalesce(bool_or(s.class = 'role' and (p.place is null or s.place < p.place)), false),
           coalesce(bool_or(s.class = 'cumul'), false),
           array_agg(s.stem order by s.place) filter (where s.topical and s.place > f.from_place
                                                      and s.place < f.to_place),
           jsonb_object_agg(s.stem, s.word) filter (where s.stem <> s.word),
           array_agg(s.stem order by s.place) filter (where s.topical and s.place <= f.now_place)
    into v_read
    from said s cross join predicate p
    cross join (select coalesce(p.class, '') <> 'be' as verbal from predicate p) s0
    cross join (select min(c.place) filter (where c.word = 'from') as from_place,
                max(c.place) filter (where c.word in ('to', 'by', 'with')) as to_place,
                       (select min(v.place) from said v where v.topical
                        and v.place > min(c.place) filter (where c.class = 'now')) as now_place
                from classed c) f
    group by s0.verbal;
    return loci_internal.read_value(v_read);
end $$;
comment on function loci_internal.read_statement(text) is
    'A statement, read: topic, polarity, mood, time, subject, predicate and value.';

-- The second half of reading: what kind of value does a statement give? number (with its unit), or a class of words
-- that exclude each other (day, color, state, level), or word. Without a predicate, a noun that has one value and a
-- number at the end are one ("default port 8080"), if there is no word beside them ("listens on port 8080" is another
-- matter). Pure.
create or replace function loci_internal.read_value(p_statement loci_internal.statement) returns loci_internal.statement
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_lexicon jsonb := loci_internal.statement_lexicon();
    v_last    integer := cardinality(p_statement.sequence);
begin
    if p_statement.relation is null and v_last > 1 and p_statement.sequence[v_last] ~ '^[0-9]'
       and p_statement.words = p_statement.sequence and exists (
            select from unnest(p_statement.sequence) s where v_lexicon ->> s = 'role') then
        p_statement.relation := 'be';
        p_statement.predicate := 'be';
        p_statement.roles := true;
        p_statement.subject := p_statement.sequence[:v_last - 1];
        p_statement.value := p_statement.sequence[v_last:];
    end if;
    p_statement.kind := case when p_statement.value[1] ~ '^[0-9]'
        or v_lexicon ->> p_statement.value[1] = 'month' then 'number'
                             when v_lexicon ->> p_statement.value[1] in ('day', 'color', 'state', 'level')
                                 then v_lexicon ->> p_statement.value[1]
                             else 'word' end;
    p_statement.unit := case when p_statement.kind = 'number' and p_statement.value[2] !~ '^[0-9]'
        and v_lexicon ->> p_statement.value[2] is distinct from 'month'
                             then p_statement.value[2] end;
    return p_statement;
end $$;
comment on function loci_internal.read_value(loci_internal.statement) is
    'Kind and unit of a statement''s value.';
