-- A service says which model it is configured with. Where none is active, or the active one has made no vector, it
-- becomes active at once: it gets its indexes, and all memories and entities wait for a vector. Where another serves,
-- nothing changes, and the answer is null: see begin_reembedding. Security definer (makes indexes); the operator's.
-- Called when a worker starts. Errors: 42501, 22023 (other dimensions), 55P03 (writers did not let go).
create or replace function loci_api.register_model(p_name text, p_dimensions integer, p_asks integer default null)
returns smallint
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_model  loci_data.embedding_models;
    v_active loci_data.embedding_models;
begin
    perform loci_internal.require_operator('register an embedding model');
    select * into v_active from loci_data.embedding_models where active;
    if v_active.name = p_name and v_active.dimensions = p_dimensions then
        return v_active.id;
    elsif v_active.name <> p_name and loci_internal.has_vectors(v_active.id) then
        return null;
    end if;
    perform loci_internal.hold_writers();
    select * into v_active from loci_data.embedding_models where active;
    v_model := loci_internal.upsert_embedding_model(p_name, p_dimensions, p_asks);
    if v_active.id = v_model.id then
        return v_active.id;
    elsif loci_internal.has_vectors(v_active.id) then
        return null;
    end if;
    perform loci_internal.create_vector_indexes(v_model.id);
    update loci_data.embedding_models set active = false where active;
    update loci_data.embedding_models
    set active = true, filling = false, second = false, chosen = false, dropped_at = null where id = v_model.id;
    perform loci_internal.queue_missing_vectors(n.id, v_model.id) from loci_data.namespaces n;
    return v_model.id;
end $$;
comment on function loci_api.register_model(text, integer, integer) is
    'Make an embedding model the active one where no other has made vectors, with its indexes, and queue all memories '
    'and entities for it; null where another serves. Operator only. Errors: 42501, 22023, 55P03.';

-- Has a model (null: none) made any vector that is still there? Without one it reads the tables of vectors through.
create or replace function loci_internal.has_vectors(p_model_id smallint) returns boolean
language sql stable set search_path from current
as $$
    select exists (select from loci_data.memory_vectors v where v.model_id = p_model_id)
        or exists (select from loci_data.entity_vectors v where v.model_id = p_model_id)
$$;
comment on function loci_internal.has_vectors(smallint) is
    'Whether a model has vectors.';
