-- Keep the axes of a namespace's map, and the middles of its clusters. Those that are there stay, unless p_replace:
-- else all points would move. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.store_projection(p_namespace text, p_model_id smallint, p_vectors bigint,
                                                     p_mean vector, p_axes vector[], p_centres vector[],
                                                     p_replace boolean) returns void
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    if p_replace then
        delete from loci_data.projections p where p.namespace_id = v_ns and p.model_id = p_model_id;
    end if;
    insert into loci_data.projections (namespace_id, model_id, vectors, mean, axes, centres)
    select v_ns, p_model_id, p_vectors, p_mean, p_axes, p_centres
    from loci_data.embedding_models m where m.id = p_model_id and m.dropped_at is null
    on conflict (namespace_id, model_id) do nothing;
end $$;
comment on function loci_api.store_projection(text, smallint, bigint, vector, vector[], vector[], boolean) is
    'Keep the axes and clusters of a namespace''s map, unless there are some. Errors: 42501, P0002.';
