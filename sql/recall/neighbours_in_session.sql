-- Which memories were said just before and after these, in the same session? Up to two on each side, visible and
-- passing the filters, with who said it; and each of these itself, at distance 0. Two short ranges of the index
-- memories_session each. Callers have checked the rights; it reads past the policies.
create or replace function loci_internal.neighbours_in_session(
    p_namespace_id integer, p_documents bigint[], p_filter loci_internal.memory_filter)
returns table (doc_id bigint, neighbour_id bigint, distance integer, source text)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
    return query
    select m.doc_id, n.doc_id, n.distance::integer, n.source
    from unnest(p_documents) i(doc_id)
    cross join lateral (select * from loci_data.memories o where o.namespace_id = p_namespace_id and o.doc_id = i.doc_id
                        and (o.session_id is not null or o.source is not null) limit 1) m
    cross join lateral (
        select m.doc_id, 0 as distance, m.source
        union all
        (select b.doc_id, row_number() over (), b.source from (
            select o.doc_id, o.source from loci_data.memories o
            where o.namespace_id = p_namespace_id and o.session_id = m.session_id
              and (o.valid_from, o.doc_id) < (m.valid_from, m.doc_id)
              and loci_internal.memory_is_visible(o, p_filter)
            order by o.valid_from desc, o.doc_id desc limit 2) b)
        union all
        (select a.doc_id, row_number() over (), a.source from (
            select o.doc_id, o.source from loci_data.memories o
            where o.namespace_id = p_namespace_id and o.session_id = m.session_id
              and (o.valid_from, o.doc_id) > (m.valid_from, m.doc_id)
              and loci_internal.memory_is_visible(o, p_filter)
            order by o.valid_from, o.doc_id limit 2) a)) n;
end $$;
comment on function loci_internal.neighbours_in_session(integer, bigint[], loci_internal.memory_filter) is
    'Memories themselves (distance 0) and their neighbours in time, at distance 1 and 2, within their sessions.';
