-- Keep the vectors of memories, made by the active model unless another is named, and their mean; what waited in the
-- queue is done.
-- Errors: 22023 for a wrong dimension.
create or replace function loci_internal.upsert_memory_vectors(p_namespace_id integer, p_ids uuid[],
                                                               p_embeddings halfvec[], p_model_id smallint default null)
returns integer
language plpgsql volatile set search_path from current
set enable_seqscan = off
as $$
declare
    v_model loci_data.embedding_models := loci_internal.check_vector_dimensions(p_embeddings, p_model_id);
    v_count integer;
begin
    insert into loci_data.memory_vectors (namespace_id, memory_id, model_id, embedding)
    select p_namespace_id, v.id, v_model.id, v.embedding
    from unnest(p_ids, p_embeddings) v(id, embedding)
    cross join lateral (select from loci_data.memories m where m.namespace_id = p_namespace_id
                        and m.id = v.id limit 1) m
    on conflict (namespace_id, memory_id, model_id) do update set embedding = excluded.embedding;
    get diagnostics v_count = row_count;
    delete from loci_data.embedding_queue
    where namespace_id = p_namespace_id and memory_id = any (p_ids) and model_id = v_model.id;
    perform loci_internal.keep_vector_mean(p_namespace_id, v_model.id, v_count);
    return v_count;
end $$;
comment on function loci_internal.upsert_memory_vectors(integer, uuid[], halfvec[], smallint) is
    'Upsert vectors of memories and take them off the embedding queue.';
