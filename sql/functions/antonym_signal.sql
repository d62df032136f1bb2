-- Do two statements say opposite things of the same topic? A word of one and a word of the other are a pair of loci.antonyms, and
-- without these two the newer says nothing that the older does not: "is disabled on mobile" does not end "is enabled". Both are
-- negated or neither is. Returns the two words' stems, or null. Pure. Called by compare_statements; internal.
create or replace function loci.antonym_signal(p_older loci.statement, p_newer loci.statement) returns text[]
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
      and array_remove(p_newer.sequence, n.stem) <@ array_remove(p_older.sequence, o.stem)
      and cardinality(p_older.topic) - cardinality(p_newer.topic) <= 3
    order by o.side limit 1);
end $$;
comment on function loci.antonym_signal(loci.statement, loci.statement) is 'The two opposite words by which statements contradict each other, or null. Internal.';
