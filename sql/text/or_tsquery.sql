-- Words as a query that any of them answers. Quoted by the rules of tsquery. Pure.
create or replace function loci_internal.or_tsquery(p_terms text[]) returns tsquery
language sql immutable parallel safe
as $$
    select string_agg('''' || replace(replace(t.term, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery
    from unnest(p_terms) t(term)
$$;
comment on function loci_internal.or_tsquery(text[]) is
    'Words as an OR query; null for none.';
