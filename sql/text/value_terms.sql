-- To what does a statement give a value, if to something that has one at a time (value_signal)? Terms of subject and
-- predicate: two statements that share one may conflict. Pure.
create or replace function loci_internal.value_terms(p_statement loci_internal.statement) returns text[]
language sql immutable parallel safe
as $$
    select case when p_statement.relation = 'fn' or p_statement.relation = 'count' and p_statement.kind = 'number'
                     or p_statement.relation = 'be' and (p_statement.roles or p_statement.kind <> 'word')
        then array['v ' || p_statement.predicate || ': '
                   || array_to_string(array(select distinct s from unnest(p_statement.subject) s order by s), ' ')]
             || case when p_statement.relation = 'fn' and cardinality(p_statement.subject) = 1
                 then array['v ' || p_statement.predicate || ': '] else '{}' end
        else '{}' end
$$;
comment on function loci_internal.value_terms(loci_internal.statement) is
    'Terms of subject and predicate of a statement that gives a value to something that has one.';
