-- Which memories were said just before and after these, in the same session? Up to two on each side, visible and
-- passing the filters, with who said it; and each of these itself, at distance 0. Two short ranges of the index
-- memories_session each.
create or replace function loci_api.neighbours_in_session(
    p_namespace text, p_documents bigint[], p_filter jsonb default '{}', p_as_of timestamptz default null,
    p_known_at timestamptz default null)
returns table (doc_id bigint, neighbour_id bigint, distance integer, source text)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
begin
    return query
    select m.doc_id, n.doc_id, n.distance::integer, n.source
    from unnest(p_documents) i(doc_id)
    cross join lateral (select * from loci_data.memories o where o.namespace_id = v_ns and o.doc_id = i.doc_id
                        and (o.session_id is not null or o.source is not null) limit 1) m
    cross join lateral (
        select m.doc_id, 0 as distance, m.source
        union all
        (select b.doc_id, row_number() over (), b.source from (
            select o.doc_id, o.source from loci_data.memories o
            where o.namespace_id = v_ns and o.session_id = m.session_id
              and (o.valid_from, o.doc_id) < (m.valid_from, m.doc_id)
              and loci_internal.memory_is_visible(o, v_filter)
            order by o.valid_from desc, o.doc_id desc limit 2) b)
        union all
        (select a.doc_id, row_number() over (), a.source from (
            select o.doc_id, o.source from loci_data.memories o
            where o.namespace_id = v_ns and o.session_id = m.session_id
              and (o.valid_from, o.doc_id) > (m.valid_from, m.doc_id)
              and loci_internal.memory_is_visible(o, v_filter)
            order by o.valid_from, o.doc_id limit 2) a)) n;
end $$;
comment on function loci_api.neighbours_in_session(text, bigint[], jsonb, timestamptz, timestamptz) is
    'Memories themselves (distance 0) and their neighbours in time, at distance 1 and 2, within their sessions. '
    'Errors: 42501, P0002.';
