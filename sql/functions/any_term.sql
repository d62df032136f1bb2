-- Words as a query that any of them answers. Quoted by the rules of tsquery. Pure. Called by search_working_memory and search_turns; internal.
create or replace function loci.any_term(p_terms text[]) returns tsquery
language sql immutable parallel safe
as $$
    select string_agg('''' || replace(replace(t.term, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery from unnest(p_terms) t(term)
$$;
comment on function loci.any_term(text[]) is 'Words as an OR query; null for none. Internal.';
