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
-- mobile" does not
-- end "is enabled". Both are negated or neither is. Returns the two words' stems, or null. Pure.
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

-- Does one of two statements deny the other? One is negated, the other is not, and all that the negated one is about is
-- said of by the other: "does not work at Acme" denies "works at Acme as an engineer"; "does not like instant coffee"
-- does not deny "likes coffee". Neither speaks of the past, both are as certain. Returns the words that deny, or null.
-- Pure.
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
