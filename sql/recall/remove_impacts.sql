-- Take documents out of the ranges that hold them: their places become 0, and so do their impacts in the rows of these
-- terms (null: of all). Returns the documents that were found. A range is locked first, so that two removals in it take
-- turns. Cost: the rows of the terms in these ranges are written; 3 ms for a memory, nothing where there are no ranges.
create or replace function loci_internal.remove_impacts(p_namespace_id integer, p_terms bigint[], p_documents bigint[])
returns bigint[]
language plpgsql volatile set search_path from current
as $$
declare
    v_range loci_data.lexical_ranges;
    v_left  bigint[];
    v_mask  vector;
    v_gone  bigint[];
    v_found bigint[] := '{}';
begin
    for v_range in
        select r.* from loci_data.lexical_ranges r
        where r.namespace_id = p_namespace_id
          -- in this order: the places of other ranges are not read
          and case when exists (select from unnest(p_documents) d where d between r.first and r.last)
              then exists (select from unnest(r.documents) d where d >> 15 = any (p_documents)) end
        order by r.range for update
    loop
        select array_agg(case when d.gone then 0 else d.document end order by d.place),
               (array_agg(case when d.gone then 0 else 1 end::real order by d.place)
                || array_fill(1::real, array[8000 - v_range.places]))::vector,
               array_agg(d.document >> 15) filter (where d.gone)
        into v_left, v_mask, v_gone
        from (select u.document, u.place, u.document >> 15 = any (p_documents) as gone
              from unnest(v_range.documents) with ordinality u(document, place)) d;
        with masked as materialized (
            select m.term, m.is_dense, m.impacts, m.size
            from (select i.term, i.sparse is null as is_dense, c.impacts, i.size as before,
                         bit_count(binary_quantize(c.impacts)) as size
                  from loci_data.lexical_impacts i
                  cross join lateral (select coalesce(i.sparse::vector, i.dense::vector) * v_mask offset 0) c(impacts)
                  where i.namespace_id = p_namespace_id and i.range = v_range.range
                    and (p_terms is null or i.term = any (p_terms)) offset 0) m
            where m.size < m.before  -- only what changes is kept, where all terms are looked at
        ), emptied as (
            delete from loci_data.lexical_impacts i using masked m
            where i.namespace_id = p_namespace_id and i.range = v_range.range and i.term = m.term and m.size = 0
        )
        update loci_data.lexical_impacts i
        set size = m.size, sparse = case when not m.is_dense then m.impacts::sparsevec end,
            dense = case when m.is_dense then m.impacts::halfvec end
        from masked m
        where i.namespace_id = p_namespace_id and i.range = v_range.range and i.term = m.term and m.size > 0;
        update loci_data.lexical_ranges r set documents = v_left, size = r.size - cardinality(v_gone)
        where r.namespace_id = p_namespace_id and r.range = v_range.range;
        v_found := v_found || v_gone;
    end loop;
    return v_found;
end $$;
comment on function loci_internal.remove_impacts(integer, bigint[], bigint[]) is
    'Remove documents from the ranges of the lexical index; those that were there.';
