-- Layout of the map: points that are placed one by one.

-- Give the next p_limit memories that came after a map was laid out their places on it; how many got one. Each stands
-- at the mean of the 15 laid out ones that are nearest by cosine, by exp(-d / m): d is how much farther than the first
-- it is, m the mean of that. Only those that were laid out count, so the order does not, and nothing moves. About 10 ms
-- a memory on a map of 20,000. The map stays the same meanwhile; 0 where another takes its place. Security definer:
-- writes past the policies; checks the caller itself. A reader may store it: places are derived from what it reads.
-- Errors: 42501, P0002.
create or replace function loci_api.place_new_points(p_namespace text, p_dims integer, p_limit integer) returns integer
language plpgsql volatile security definer set search_path from current set plan_cache_mode = force_generic_plan
set work_mem = '32MB'
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'reader');
    v_count integer;
begin
    perform from loci_data.map_layouts l join loci_data.embedding_models o on o.id = l.model_id and o.active
    where l.namespace_id = v_ns and l.dims = p_dims for key share of l;
    if not found then
        return 0;
    end if;
    with laid_out as materialized (
        select p.memory_id, p.model_id, p.x, p.y, p.z, v.embedding
        from loci_data.embedding_models o
        join loci_data.map_points p on p.namespace_id = v_ns and p.model_id = o.id and p.dims = p_dims and not p.added
        join loci_data.memory_vectors v on v.namespace_id = v_ns and v.memory_id = p.memory_id and v.model_id = o.id
        where o.active
    ), new as (
        select v.memory_id, v.model_id, v.embedding
        from loci_data.embedding_models o
        join loci_data.memory_vectors v on v.namespace_id = v_ns and v.model_id = o.id
        where o.active and not exists (select from loci_data.map_points p
                                       where p.namespace_id = v_ns and p.memory_id = v.memory_id
                                         and p.model_id = o.id and p.dims = p_dims)
        order by v.memory_id limit p_limit
        for key share of v
    )
    insert into loci_data.map_points (namespace_id, memory_id, model_id, dims, x, y, z, added)
    select v_ns, n.memory_id, n.model_id, p_dims, b.x, b.y, b.z, true
    from new n
    cross join lateral (
        select sum(w.weight * w.x) / sum(w.weight) as x, sum(w.weight * w.y) / sum(w.weight) as y,
               sum(w.weight * w.z) / sum(w.weight) as z
        from (select f.x, f.y, f.z,
                     exp((min(f.far) over () - f.far)
                         / greatest(avg(f.far) over () - min(f.far) over (), 1e-9)) as weight
              from (select l.x, l.y, l.z, coalesce(nullif(l.embedding <=> n.embedding, 'NaN'), 1) as far
                    from laid_out l order by 4, l.memory_id limit 15) f) w
    ) b
    where b.x is not null
    on conflict (namespace_id, memory_id, model_id, dims) do nothing;
    get diagnostics v_count = row_count;
    return v_count;
end $$;
comment on function loci_api.place_new_points(text, integer, integer) is
    'Place memories that came after a map was laid out between those they are nearest to; how many. Errors: 42501, '
    'P0002.';

-- Keep where memories stand on a map that was laid out. p_added false: it takes the place of the one before; true: of
-- memories that took no part in it. Deleted memories are left out; memories keep the place that they have. The vectors
-- are locked in order of id. z null: the map is flat. Security definer: writes past the policies; checks the caller
-- itself. Errors: 42501, P0002.
create or replace function loci_api.store_layout(p_namespace text, p_model_id smallint, p_dims integer, p_ids uuid[],
                                                 p_x real[], p_y real[], p_z real[], p_added boolean) returns void
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'writer');
begin
    if not p_added then
        delete from loci_data.map_layouts l
        where l.namespace_id = v_ns and l.model_id = p_model_id and l.dims = p_dims;
        insert into loci_data.map_layouts (namespace_id, model_id, dims, memories)
        select v_ns, o.id, p_dims, cardinality(p_ids)
        from loci_data.embedding_models o where o.id = p_model_id and o.dropped_at is null
        on conflict (namespace_id, model_id, dims) do nothing;
    end if;
    insert into loci_data.map_points (namespace_id, memory_id, model_id, dims, x, y, z, added)
    select v_ns, v.memory_id, p_model_id, p_dims, u.x, u.y, u.z, p_added
    from unnest(p_ids, p_x, p_y, p_z) u(id, x, y, z)
    join loci_data.memory_vectors v on v.namespace_id = v_ns and v.memory_id = u.id and v.model_id = p_model_id
    where exists (select from loci_data.map_layouts l
                  where l.namespace_id = v_ns and l.model_id = p_model_id and l.dims = p_dims)
    order by v.memory_id
    for key share of v
    on conflict (namespace_id, memory_id, model_id, dims) do nothing;
end $$;
comment on function loci_api.store_layout(text, smallint, integer, uuid[], real[], real[], real[], boolean) is
    'Keep where memories stand on a map that was laid out. Errors: 42501, P0002.';

-- Which vectors have no place on a map that was laid out? The next p_limit after p_after, in order of id: ids of
-- memories, 16 bytes each, and vectors as halfvec_send writes them. Nulls: none is left. Security definer: past the
-- policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.unplaced_vectors(p_namespace text, p_model_id smallint, p_dims integer,
                                                     p_after uuid, p_limit integer)
returns table (ids bytea, vectors bytea)
language plpgsql stable security definer set search_path from current set plan_cache_mode = force_generic_plan
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    select string_agg(uuid_send(s.memory_id), ''::bytea), string_agg(halfvec_send(s.embedding), ''::bytea)
    from (select v.memory_id, v.embedding from loci_data.memory_vectors v
          where v.namespace_id = v_ns and v.model_id = p_model_id
            and v.memory_id > coalesce(p_after, loci_internal.nil_uuid())
            and not exists (select from loci_data.map_points p
                            where p.namespace_id = v_ns and p.memory_id = v.memory_id and p.model_id = p_model_id
                              and p.dims = p_dims)
          order by v.memory_id limit p_limit) s;
end $$;
comment on function loci_api.unplaced_vectors(text, smallint, integer, uuid, integer) is
    'The next vectors without a place on a map that was laid out, in binary. Errors: 42501, P0002.';
