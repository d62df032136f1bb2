-- Does one of two statements deny the other? One is negated, the other is not, and all that the negated one is about is said of by the
-- other: "does not work at Acme" denies "works at Acme as an engineer"; "does not like instant coffee" does not deny "likes coffee".
-- Neither speaks of the past, both are as certain. Returns the words that deny, or null. Pure. Called by compare_statements; internal.
create or replace function loci.negation_signal(p_older loci.statement, p_newer loci.statement) returns text[]
language plpgsql immutable parallel safe
as $$
begin
    return (
    select coalesce((n.denies).negators, '{}')
    from (select case when p_older.negators is null then p_newer else p_older end as denies,
                 case when p_older.negators is null then p_older else p_newer end as states) n
    where (p_older.negators is null) <> (p_newer.negators is null)
      and p_older.past is null and p_newer.past is null and p_older.moods is not distinct from p_newer.moods
      and (n.denies).sequence <@ (n.states).sequence
      and cardinality((n.states).topic) - cardinality((n.denies).topic) <= 4);
end $$;
comment on function loci.negation_signal(loci.statement, loci.statement) is 'Words by which one of two statements denies the other, or null. Internal.';
