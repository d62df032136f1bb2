-- A walk with the way to each edge: names and edge types from a start to the far end, by the shortest way that was found first, and as
-- its score the product of the effective confidences on it (row G7).
-- A function of its own, because its recursion would cost every walk that asks for no paths. Cost: a hash join a hop over what
-- expand_entities found. Called by traverse; internal.
create or replace function loci.walk_paths(
    p_namespace_id integer, p_ids uuid[], p_edge_types text[], p_direction text, p_max_hops integer, p_limit integer,
    p_min_confidence double precision, p_min_strength double precision, p_as_of timestamptz, p_known_at timestamptz)
returns table (id uuid, source_id uuid, source text, type text, target_id uuid, target text, literal text, confidence double precision,
               strength double precision, hop integer, path text[], score double precision, ordinal integer, truncated text)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan
set enable_nestloop = off set enable_seqscan = off
as $$
begin
    return query
    with recursive found as materialized (
        select e.* from loci.expand_entities(
            p_namespace_id, p_ids, p_edge_types, p_direction, p_max_hops, p_limit, p_min_confidence, p_min_strength, p_as_of, p_known_at) e
    ), named as materialized (  -- the ids in order, so that each page of the key is read once
        select o.id, o.name from loci_data.entities o
        where o.namespace_id = p_namespace_id
          and o.id = any(p_ids || array(select f.far_id from found f))
    ), walked as (
        select f.ordinal, array[s.name, f.type, coalesce(t.name, f.literal)] as path, f.confidence as score
        from found f join named s on s.id = f.from_id left join named t on t.id = f.far_id where f.via is null
        union all
        select f.ordinal, w.path || f.type || coalesce(t.name, f.literal), w.score * f.confidence
        from walked w join found f on f.via = w.ordinal left join named t on t.id = f.far_id
    )
    select f.id, f.source_id, s.name, f.type, f.target_id, t.name, f.literal, f.confidence, f.strength, f.hop, w.path, w.score, f.ordinal,
           (select max(b.truncated) from found b where b.ordinal is null)
    from found f
    join named s on s.id = f.source_id
    left join named t on t.id = f.target_id
    join walked w on w.ordinal = f.ordinal
    order by f.ordinal;
end $$;
comment on function loci.walk_paths(integer, uuid[], text[], text, integer, integer, double precision, double precision, timestamptz, timestamptz) is 'Edges around entities with their names and the path to each. Internal.';
