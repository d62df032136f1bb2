-- Do vectors fit a model (null: the active one)? Returns the model. Errors: 22023 for a wrong dimension, or where there
-- is no model.
create or replace function loci_internal.check_vector_dimensions(p_embeddings halfvec[], p_model_id smallint)
returns loci_data.embedding_models
language plpgsql stable set search_path from current
as $$
declare
    v_model loci_data.embedding_models;
    v_wrong integer;
begin
    select * into v_model from loci_data.embedding_models where case when p_model_id is null then active
        else id = p_model_id end;
    select vector_dims(e) into v_wrong from unnest(p_embeddings) e where vector_dims(e)
        is distinct from v_model.dimensions limit 1;
    if v_model.id is null or found then
        raise invalid_parameter_value using
            message = case when v_model.id is null then 'this service has no embedding model, so it takes no vectors'
                           else format('embedding has %s dimensions; the model %s has %s', v_wrong, v_model.name,
                                       v_model.dimensions) end,
            column = 'embedding';
    end if;
    return v_model;
end $$;
comment on function loci_internal.check_vector_dimensions(halfvec[], smallint) is
    'The model that vectors are of, if they have its dimensions. Errors: 22023.';
