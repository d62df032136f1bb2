-- Comparison of statements: signals of change, correction, negation and time.

-- Does the newer of two statements, already read, contradict the older? The gate is p_shared_tokens words in common;
-- then the first signal that fires decides: negation polarity, antonym pair, value conflict, temporal marker. A
-- question to a model, for pairs that pass the gate and fire none of the four, belongs after this function returns no
-- row. Pure; about 20 µs.
create or replace function loci_internal.compare_statements(p_older loci_internal.statement,
                                                            p_newer loci_internal.statement, p_single_valued boolean,
                                                            p_shared_tokens integer)
returns table (signal text, confidence double precision, evidence text[])
language plpgsql immutable parallel safe rows 1
as $$
begin
    if (select count(*) from (select unnest(p_older.words) intersect select unnest(p_newer.words)) shared)
        < p_shared_tokens or loci_internal.voices_differ(p_older, p_newer) then
        return;
    end if;
    signal := 'negation'; confidence := 0.85; evidence := loci_internal.negation_signal(p_older, p_newer);
    if evidence is null then
        signal := 'antonym'; confidence := 0.80; evidence := loci_internal.antonym_signal(p_older, p_newer);
    end if;
    if evidence is null then
        signal := 'value_conflict'; confidence := 0.75;
        evidence := loci_internal.value_signal(p_older, p_newer, p_single_valued);
    end if;
    if evidence is null then
        signal := 'temporal_marker'; confidence := 0.70;
        evidence := loci_internal.temporal_signal(p_older, p_newer, p_single_valued);
    end if;
    if evidence is not null then  -- in words, not stems
        evidence := array(
            select string_agg(replace(coalesce(p_newer.spoken ->> w.stem, p_older.spoken ->> w.stem, w.stem), '_',
                                      ' '), ' ' order by w.place)
            from unnest(evidence) with ordinality e(stems, nth)
            cross join lateral unnest(string_to_array(e.stems, ' ')) with ordinality w(stem, place) group by e.nth
            order by e.nth);
        return next;
    end if;
end $$;
comment on function loci_internal.compare_statements(loci_internal.statement, loci_internal.statement, boolean,
                                                     integer) is
    'Signal, confidence and evidence of a contradiction between statements that were read; no row: none.';

-- Do two statements say opposite things of the same topic? A word of one and a word of the other are a pair of
-- loci_internal.antonym_pairs, and without these two the newer says nothing that the older does not: "is disabled on
-- mobile" does not end "is enabled". Both are negated or neither is. Returns the two words' stems, or null. Pure.
create or replace function loci_internal.antonym_signal(p_older loci_internal.statement,
                                                        p_newer loci_internal.statement) returns text[]
language plpgsql immutable parallel safe
as $$
begin
    return (
    select array[o.stem, n.stem]
    from unnest(p_older.opposites, p_older.opposite_stems) o(side, stem)
    join unnest(p_newer.opposites, p_newer.opposite_stems) n(side, stem) on n.side = translate(o.side, '+-', '-+')
    where (p_older.negators is null) = (p_newer.negators is null)
      and p_older.past is null and p_newer.past is null and p_older.moods is not distinct from p_newer.moods
      and not o.side = any (p_newer.opposites) and not n.side = any (p_older.opposites)
      and loci_internal.words_keep_order(case when o.stem = any (p_older.sequence)
                                              then array_replace(p_newer.sequence, n.stem, o.stem)
                                              else array_remove(p_newer.sequence, n.stem) end, p_older.sequence)
      and cardinality(p_older.topic) - cardinality(p_newer.topic) <= 3
    order by o.side limit 1);
end $$;
comment on function loci_internal.antonym_signal(loci_internal.statement, loci_internal.statement) is
    'The two opposite words by which statements contradict each other, or null.';

-- Does one of two statements deny the other? One is negated and the other is not, and the other has all words of what
-- is denied: "does not work at Acme" denies "works at Acme as an engineer"; "does not like instant coffee" does not
-- deny "likes coffee". Neither speaks of the past, both are as certain. Returns the words that deny, or null. Pure.
create or replace function loci_internal.negation_signal(p_older loci_internal.statement,
                                                         p_newer loci_internal.statement) returns text[]
language plpgsql immutable parallel safe
as $$
begin
    return (
    select coalesce((n.denies).negators, '{}')
    from (select case when p_older.negators is null then p_newer else p_older end as denies,
                 case when p_older.negators is null then p_older else p_newer end as states) n
    where (p_older.negators is null) <> (p_newer.negators is null)
      and p_older.past is null and p_newer.past is null and p_older.moods is not distinct from p_newer.moods
      and loci_internal.words_keep_order((n.denies).sequence, (n.states).sequence)
      and cardinality((n.states).topic) - cardinality((n.denies).topic) <= 4);
end $$;
comment on function loci_internal.negation_signal(loci_internal.statement, loci_internal.statement) is
    'Words by which one of two statements denies the other, or null.';

-- Does the newer of two statements say that the older is over?
--   it tells the same as past and over (used to, formerly, until), and not of a time alone (as a child)
--   it says that something was replaced: what the older states (switched from Jenkins), or its value (the deadline
--            moved to)
--   it begins like the older, as far as the verb after now, and says that something else holds now; not for verbs
--            whose objects add up, nor for what is
--   declared multi-valued
-- Returns the words that tell, or null. Pure.
create or replace function loci_internal.temporal_signal(p_older loci_internal.statement,
                                                         p_newer loci_internal.statement, p_single_valued boolean)
                                                             returns text[]
language plpgsql immutable parallel safe
as $$
begin
    return (
    select case
        when p_older.past is not null or (p_older.negators is null) <> (p_newer.negators is null)
             or p_older.moods is distinct from p_newer.moods then null
        when p_newer.past is not null then case
            when loci_internal.words_keep_order(p_newer.sequence, p_older.sequence)
             and not exists (select from unnest(p_newer.past) w where loci_internal.statement_lexicon() ->> w = 'then')
                then p_newer.past end
        when p_single_valued is false or p_newer.additive or p_older.sequence @> p_newer.sequence then null
        when p_newer.relation = 'change' and p_newer.replaced <@ p_older.sequence and
            coalesce(p_newer.subject, '{}') <@ p_older.sequence
            then p_newer.predicate || p_newer.replaced
        when p_newer.relation = 'change' and p_older.relation = 'be' and p_newer.kind = p_older.kind
        and p_older.years is not distinct from p_newer.years
             and p_newer.subject <@ p_older.subject and p_older.subject <@ p_newer.subject
             and not p_older.value <@ p_newer.value
            then array[p_newer.predicate]
        when p_newer.now is not null and not p_newer.cumulative and p_newer.kind is not distinct from p_older.kind
             and (p_newer.relation is distinct from 'be' or p_newer.roles or p_newer.kind <> 'word'
                  or p_newer.value[1] = p_older.value[1])
             and cardinality(p_newer.now_prefix) in (2, 3)
             and p_older.sequence[:cardinality(p_newer.now_prefix)] = p_newer.now_prefix
             and not p_older.sequence[cardinality(p_newer.now_prefix) + 1:] <@ p_newer.sequence
             and not p_newer.sequence[cardinality(p_newer.now_prefix) + 1:] <@ p_older.sequence
            then p_newer.now
        end);
end $$;
comment on function loci_internal.temporal_signal(loci_internal.statement, loci_internal.statement, boolean) is
    'Words by which the newer of two statements says that the older is over, or null.';

-- Does the newer of two statements tell a change that compare_statements leaves open? Three ways: someone who lives or
-- is based somewhere, or moved there, moved or relocated to what has a name (p_names: capitalised words), which is no
-- team, or lives elsewhere after a move; one thing is done instead of another ("drinks tea instead of coffee" ends
-- "drinks coffee"); and it corrects the older in so many words (correct_signal). Returns the words that tell, or null.
-- Pure.
create or replace function loci_internal.change_signal(p_older loci_internal.statement,
                                                       p_newer loci_internal.statement, p_names text[],
                                                       p_older_names text[]) returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_at   integer := array_position(p_newer.sequence, 'instead');
    v_tail text[] := p_newer.sequence[v_at + 1:];
    v_kept integer := cardinality(p_older.sequence) - cardinality(v_tail);
begin
    return case
        when p_older.negators is not null or p_newer.negators is not null or p_older.past is not null
        or p_newer.past is not null
             or p_older.moods is not null or p_newer.moods is not null or p_newer.additive then null
        when loci_internal.tells_place(p_newer, p_names) and loci_internal.tells_place(p_older, p_older_names)
             and (p_newer.relation = 'change'  -- Acme moved to Slack and is based in Paris
                  or p_older.relation = 'change' and p_newer.predicate in ('live', 'resid'))
             and coalesce(p_older.subject, '{}') @> coalesce(p_newer.subject, '{}') and
                 coalesce(p_older.subject, '{}') <@ coalesce(p_newer.subject, '{}')
             and not p_older.value <@ p_newer.value
            then array[p_newer.predicate] || p_newer.value
        when v_at > 2 and cardinality(v_tail) > 0 and v_kept >= 2
             and p_older.sequence[v_kept + 1:] = v_tail and p_older.sequence[:v_kept] = p_newer.sequence[:v_kept]
            then array['instead'] || v_tail
        else loci_internal.correct_signal(p_older, p_newer, p_names, p_older_names)
    end;
end $$;
comment on function loci_internal.change_signal(loci_internal.statement, loci_internal.statement, text[], text[]) is
    'Words by which a statement tells that what an older one says was changed, or null.';

-- Does a statement say where somebody or something lives or moved to? A place has a name. Pure.
create or replace function loci_internal.tells_place(p_said loci_internal.statement, p_names text[]) returns boolean
language sql immutable parallel safe
as $$
    select case when p_said.relation = 'fn'
                then p_said.predicate in ('live', 'resid', 'base', 'locat', 'situat', 'headquart')
                when p_said.relation = 'change' and p_said.predicate ~ '^(move|reloc)' then
                    cardinality(p_said.value) <= 3 and p_said.value[1] = any (p_names)
                    and not p_said.value && '{team,depart,group,engin,sale,market,design,financ,support}'
                    and array_to_string(p_said.value, ' ') !~ '\d' end
$$;
comment on function loci_internal.tells_place(loci_internal.statement, text[]) is
    'Whether a statement says where its subject lives or moved to.';

-- Does the newer of two statements correct the older in so many words ("no, I drive a Saab")? It opens with a
-- correction, and says the same as far as its verb and after what it corrects, which is one word in one of both and at
-- most three in the other; both have a name there, or neither. If it names the wrong value (a Saab, not a Volvo), the
-- older must state it; otherwise its verb must allow one object (not likes, has). Where the opening may be an excuse
-- (sorry, I am late), what is said to be so has a name, a number, or a noun with one value. Returns the words that are
-- right, or null. Pure.
create or replace function loci_internal.correct_signal(p_older loci_internal.statement,
                                                        p_newer loci_internal.statement, p_names text[],
                                                        p_older_names text[]) returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_lexicon constant jsonb := loci_internal.statement_lexicon();
    v_old     text[];
    v_new     text[];
    v_same    integer := 0;
begin
    if coalesce(p_newer.words[1], '') not in ('to_correct', 'may_correct')
       or p_newer.cumulative and p_newer.replaced is null then
        return null;
    end if;
    v_old := array(select w from unnest(p_older.words) with ordinality u(w, n)
                   where coalesce(v_lexicon ->> w, '') not in ('soft', 'now', 'fix') order by n);
    v_new := array(select w from unnest(p_newer.words) with ordinality u(w, n)
                   where coalesce(v_lexicon ->> w, '') not in ('soft', 'now', 'fix') order by n);
    while v_old[v_same + 1] = v_new[v_same + 1] loop
        v_same := v_same + 1;
    end loop;
    if not exists (select from unnest(v_old[:v_same]) with ordinality u(w, n)  -- the verb
                   where n > case when v_old[1] in ('my', 'our') then 2 else 1 end and w <> all (p_older_names)
                     and v_lexicon ->> w is distinct from 'stop') then
        return null;
    end if;
    v_old := v_old[v_same + 1:];
    v_new := v_new[v_same + 1:];
    while v_old[cardinality(v_old)] = v_new[cardinality(v_new)] loop
        v_old := v_old[:cardinality(v_old) - 1];
        v_new := v_new[:cardinality(v_new) - 1];
    end loop;
    return case when least(cardinality(v_old), cardinality(v_new)) = 1
                 and greatest(cardinality(v_old), cardinality(v_new)) <= 3
                 and 'stop' <> all (array[coalesce(v_lexicon ->> v_old[1], ''), coalesce(v_lexicon ->> v_new[1], '')])
                 and v_old && p_older_names = (v_new && p_names)
                 and case when p_newer.replaced is not null then v_old && p_newer.replaced
                          else p_newer.words[1] = 'to_correct' or p_newer.relation is distinct from 'be'
                               or p_newer.roles or v_new && p_names or v_new[1] ~ '^[0-9]' end
                 and v_old[1] ~ '^[0-9]' = (v_new[1] ~ '^[0-9]')
        then v_new end;
end $$;
comment on function loci_internal.correct_signal(loci_internal.statement, loci_internal.statement, text[], text[]) is
    'Statement that corrects an older one, without its words of correction; null: none.';
