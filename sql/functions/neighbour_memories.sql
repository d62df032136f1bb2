-- Which memories were said just before and after these, in the same session (row R8)? Up to two on each side, visible
-- and passing the filters. Two short ranges of the index memories_session each. Called by recall.
create or replace function loci.neighbour_memories(
    p_namespace text, p_ids uuid[], p_filter jsonb default '{}', p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (id uuid, neighbour_id uuid, distance integer)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_ns     integer := loci.authorize(p_namespace, 'reader');
    v_filter loci.memory_filter := loci.resolve_filter(v_ns, p_filter);
    v_as_of  timestamptz := coalesce(p_as_of, clock_timestamp());
begin
    return query
    select m.id, n.id, n.distance::integer
    from unnest(p_ids) i(id)
    join loci.memories m on m.namespace_id = v_ns and m.id = i.id and m.session_id is not null
    cross join lateral (
        (select b.id, row_number() over () as distance from (
            select o.id from loci.memories o
            where o.namespace_id = v_ns and o.session_id = m.session_id
              and (o.valid_from, o.doc_id) < (m.valid_from, m.doc_id)
              and loci.is_visible(o, v_as_of, p_known_at) and loci.matches(o, v_filter)
            order by o.valid_from desc, o.doc_id desc limit 2) b)
        union all
        (select a.id, row_number() over () from (
            select o.id from loci.memories o
            where o.namespace_id = v_ns and o.session_id = m.session_id
              and (o.valid_from, o.doc_id) > (m.valid_from, m.doc_id)
              and loci.is_visible(o, v_as_of, p_known_at) and loci.matches(o, v_filter)
            order by o.valid_from, o.doc_id limit 2) a)) n;
end $$;
comment on function loci.neighbour_memories(text, uuid[], jsonb, timestamptz, timestamptz) is 'Neighbours in time, at distance 1 and 2, of memories within their sessions. Errors: 42501, P0002.';
