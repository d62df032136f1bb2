-- Under what is a statement found by those that may contradict it? Hashes, about three more than it has words; whoever contradicts it asks for
-- one of them (asked_terms):
--   t stem        each stem of its sequence
--   d stem        denied, or told as past: the last stem, which who states the same has too
--   a side stem   a word that has an opposite: the last stem beside it
--   c stem        a change: the last stem of what is said to have changed
--   v …           subject and predicate, if it gives a value to something that has one; the predicate alone where the subject may be left out
--   p …           how it begins: its first two and three stems
--   n …           how it begins, as far as the word after now
-- Pure. Called by index_attribute; internal.
create or replace function loci.offered_terms(p_statement loci.statement) returns text[]
language plpgsql immutable parallel safe
as $$
begin
    return (
    select array(select 't ' || s from unnest(p_statement.sequence) s)
        || case when num_nonnulls(p_statement.negators, p_statement.past) > 0
                then array['d ' || p_statement.sequence[cardinality(p_statement.sequence)]] else '{}' end
        || array(select 'a ' || o.side || ' ' || coalesce(r.rest[cardinality(r.rest)], '')
                 from unnest(p_statement.opposites, p_statement.opposite_stems) o(side, stem)
                 cross join lateral (select array_remove(p_statement.sequence, o.stem) as rest) r)
        || case when p_statement.relation = 'change'
                then array['c ' || (coalesce(p_statement.replaced, p_statement.subject))[cardinality(coalesce(p_statement.replaced, p_statement.subject))]]
                else '{}' end
        || loci.value_terms(p_statement)
        || array['p ' || array_to_string(p_statement.sequence[:2], ' '), 'p ' || array_to_string(p_statement.sequence[:3], ' ')]
        || case when p_statement.now_prefix is not null then array['n ' || array_to_string(p_statement.now_prefix, ' ')] else '{}' end);
end $$;
comment on function loci.offered_terms(loci.statement) is 'Terms under which a statement is found by what may contradict it. Internal.';
