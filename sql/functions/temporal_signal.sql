-- Does the newer of two statements say that the older is over?
--   it tells the same as past (used to, formerly, until)
--   it says that something was replaced: what the older states (switched from Jenkins), or its value (the deadline moved to)
--   it begins like the older, as far as the verb after now, and says that something else holds now; not for verbs whose objects add up, nor for what is
--   declared multi-valued
-- Returns the words that tell, or null. Pure. Called by compare_statements; internal.
create or replace function loci.temporal_signal(p_older loci.statement, p_newer loci.statement, p_single_valued boolean) returns text[]
language plpgsql immutable parallel safe
as $$
begin
    return (
    select case
        when p_older.past is not null or (p_older.negators is null) <> (p_newer.negators is null)
             or p_older.moods is distinct from p_newer.moods then null
        when p_newer.past is not null then case when p_newer.sequence <@ p_older.sequence then p_newer.past end
        when p_single_valued is false or p_newer.additive or p_older.sequence @> p_newer.sequence then null
        when p_newer.relation = 'change' and p_newer.replaced <@ p_older.sequence and coalesce(p_newer.subject, '{}') <@ p_older.sequence
            then p_newer.predicate || p_newer.replaced
        when p_newer.relation = 'change' and p_older.relation = 'be' and p_newer.kind = p_older.kind and p_older.years is not distinct from p_newer.years
             and p_newer.subject <@ p_older.subject and p_older.subject <@ p_newer.subject and not p_older.value <@ p_newer.value
            then array[p_newer.predicate]
        when p_newer.now is not null and not p_newer.cumulative and p_newer.kind is not distinct from p_older.kind
             and (p_newer.relation is distinct from 'be' or p_newer.roles or p_newer.kind <> 'word' or p_newer.value[1] = p_older.value[1])
             and cardinality(p_newer.now_prefix) in (2, 3) and p_older.sequence[:cardinality(p_newer.now_prefix)] = p_newer.now_prefix
             and not p_older.sequence[cardinality(p_newer.now_prefix) + 1:] <@ p_newer.sequence
             and not p_newer.sequence[cardinality(p_newer.now_prefix) + 1:] <@ p_older.sequence
            then p_newer.now
        end);
end $$;
comment on function loci.temporal_signal(loci.statement, loci.statement, boolean) is 'Words by which the newer of two statements says that the older is over, or null. Internal.';
