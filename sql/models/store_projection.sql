-- Keep the axes of a namespace's map, and the middles of its clusters. Those that are there stay, unless p_replace:
-- else all points would move. p_ids: of the memories in whose vectors they were found, 16 bytes each. False, and
-- nothing kept: one of them was erased since, and would come back in these; waits for an erasure under way. Security
-- definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.store_projection(p_namespace text, p_model_id smallint, p_vectors bigint,
                                                     p_ids bytea, p_mean vector, p_axes vector[], p_centres vector[],
                                                     p_replace boolean) returns boolean
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_ns   integer := loci_internal.authorize(p_namespace, 'reader');
    v_left integer;
begin
    perform loci_internal.lock_shared(v_ns, 'worker');
    select count(*) into v_left
    from generate_series(1, octet_length(p_ids), 16) n(at)
    join loci_data.memory_vectors v on v.namespace_id = v_ns and v.model_id = p_model_id
     and v.memory_id = encode(substr(p_ids, n.at, 16), 'hex')::uuid;
    if v_left < octet_length(p_ids) / 16 then
        return false;
    end if;
    if p_replace then
        delete from loci_data.projections p where p.namespace_id = v_ns and p.model_id = p_model_id;
    end if;
    insert into loci_data.projections (namespace_id, model_id, vectors, mean, axes, centres)
    select v_ns, p_model_id, p_vectors, p_mean, p_axes, p_centres
    from loci_data.embedding_models m where m.id = p_model_id and m.dropped_at is null
    on conflict (namespace_id, model_id) do nothing;
    return true;
end $$;
comment on function loci_api.store_projection(text, smallint, bigint, bytea, vector, vector[], vector[], boolean) is
    'Keep the axes and clusters of a namespace''s map, unless there are some; false where they were found in what was '
    'erased since. Errors: 42501, P0002.';
