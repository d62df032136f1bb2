-- Which terms do statements offer that this one contradicts, or that contradict it (offered_terms)? For each signal, in both directions:
-- what it denies has its last stem; what denies it has one of its stems as the last; and so on. A word that is common among the
-- siblings is asked for only where nothing rarer tells. Pure. Called by find_contradictions; internal.
create or replace function loci.asked_terms(p_statement loci.statement, p_single_valued boolean) returns text[]
language plpgsql immutable parallel safe
as $$
begin
    return (
    select case when num_nonnulls(p_statement.negators, p_statement.past) > 0
                then array['t ' || p_statement.sequence[cardinality(p_statement.sequence)]] else '{}' end
        || array(select 't ' || r.rest[cardinality(r.rest)] from unnest(p_statement.opposite_stems) o(stem)
                 cross join lateral (select array_remove(p_statement.sequence, o.stem) as rest) r where r.rest <> '{}')
        || case when p_statement.relation = 'change'
                then array['t ' || (coalesce(p_statement.replaced, p_statement.subject))[cardinality(coalesce(p_statement.replaced, p_statement.subject))]]
                else '{}' end
        || array(select k.kind || s.stem from unnest(p_statement.sequence) s(stem) cross join (values ('d '), ('c ')) k(kind))
        || array(select 'a ' || translate(o.side, '+-', '-+') || ' ' || s.stem
                 from unnest(p_statement.opposites) o(side) cross join unnest(p_statement.sequence || array['']) s(stem))
        || case when p_single_valued is false then '{}' else loci.value_terms(p_statement) end
        || array['n ' || array_to_string(p_statement.sequence[:2], ' '), 'n ' || array_to_string(p_statement.sequence[:3], ' ')]
        || case when p_statement.now_prefix is not null then array['p ' || array_to_string(p_statement.now_prefix, ' ')] else '{}' end
        || case when p_single_valued then array(select 't ' || s from unnest(p_statement.sequence) s) else '{}' end);
end $$;
comment on function loci.asked_terms(loci.statement, boolean) is 'Terms of statements that a statement may contradict or be contradicted by. Internal.';
