-- Which vectors speak for a namespace? At most p_bytes of the active model's, and p_most, the same ones each time, as
-- halfvec_send writes them, one after another: the service finds the axes of the map in them, or lays them out. ids:
-- of their memories, 16 bytes each. total: how many there are. Reads all of the namespace's vectors once. Security
-- definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.sample_vectors(p_namespace text, p_bytes integer, p_most integer default null)
returns table (model_id smallint, dimensions integer, total bigint, ids bytea, vectors bytea)
language plpgsql stable security definer set search_path from current set plan_cache_mode = force_generic_plan
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    select o.id, o.dimensions, (
               select count(*) from loci_data.memory_vectors v where v.namespace_id = v_ns and v.model_id = o.id),
           f.ids, f.vectors
    from loci_data.embedding_models o
    cross join lateral (
        select string_agg(uuid_send(s.memory_id), ''::bytea) as ids,
               string_agg(halfvec_send(s.embedding), ''::bytea) as vectors
        from (select v.memory_id, v.embedding from loci_data.memory_vectors v
              where v.namespace_id = v_ns and v.model_id = o.id
              order by uuid_hash(v.memory_id), v.memory_id
              limit least(p_most, p_bytes / (2 * o.dimensions + 4))) s) f
    where o.active;
end $$;
comment on function loci_api.sample_vectors(text, integer, integer) is
    'Vectors of the active model that speak for a namespace, in binary; one row, none without a model. Errors: 42501, '
    'P0002.';
