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
