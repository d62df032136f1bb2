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
