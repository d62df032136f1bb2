-- Graph arm of recall: entities that the question names, their neighbours over living edges, and the memories that mention
-- them or are evidence of an edge on the way; path says which way, and what decay did on it. Filters and both times apply before the limit. Called by recall.
create or replace function loci.recall_graph(
    p_namespace text, p_query text, p_limit integer default null, p_filter jsonb default '{}',
    p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (id uuid, doc_id bigint, score double precision, path jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_ns     integer := loci.authorize(p_namespace, 'reader');
    v_filter loci.memory_filter := loci.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
    v_limit  integer := coalesce(p_limit, (loci.settings(v_ns) ->> 'depth')::integer);
begin
    return query
    select g.memory_id, m.doc_id, g.score, g.path
    from loci.search_graph(v_ns, p_query, 10000, v_filter.as_of, p_known_at) g
    join loci_data.memories m on m.namespace_id = v_ns and m.id = g.memory_id
    where loci.passes(m, v_filter)
    order by g.score desc, m.doc_id limit v_limit;
end $$;
comment on function loci.recall_graph(text, text, integer, jsonb, timestamptz, timestamptz) is 'Memories around the entities that a question names, best first, with the path that led there. Errors: 42501, P0002, 22023.';
