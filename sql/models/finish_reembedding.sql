-- Make the model that is being filled the active one, once nothing waits for it: from the commit on recall asks it, all
-- at once. Returns how many still wait, at most 2,000; 0: it is active now. From here to the end of the transaction
-- writers wait: who embeds these few in it may ask again, and nothing comes between. Set lock_timeout before: who waits
-- for a long write holds up all that come behind. Security definer; the operator's. Errors: 42501, 22023 (not all was
-- queued, or indexes are missing or invalid), 55P03 (lock_timeout).
create or replace function loci_api.finish_reembedding(p_model_id smallint) returns bigint
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_model   loci_data.embedding_models;
    v_waiting bigint;
    v_lacking bigint;
begin
    perform loci_internal.require_operator('change the embedding model');
    lock table loci_data.memories, loci_data.entities, loci_data.embedding_models in share row exclusive mode;
    select * into v_model from loci_data.embedding_models m where m.id = p_model_id;
    if v_model.active then
        return 0;
    end if;
    select count(*) into v_lacking from loci_api.vector_indexes(p_model_id) i where i.valid is distinct from true;
    if v_model.filling is distinct from true or v_model.queued_at is null or v_lacking > 0 then
        raise invalid_parameter_value using column = 'model', message = case
            when v_lacking > 0 then format('%s indexes of the model %s are missing or invalid', v_lacking, v_model.name)
            when v_model.filling then format('not all memories are queued for the model %s yet', v_model.name)
            else 'this model is not being filled' end;
    end if;
    select w.memories + w.entities into v_waiting from loci_internal.count_waiting_vectors(p_model_id, 1000) w;
    if v_waiting = 0 then
        update loci_data.embedding_models m set active = false, chosen = false, queued_at = null where m.active;
        update loci_data.embedding_models m set active = true, filling = false where m.id = p_model_id;
    end if;
    return v_waiting;
end $$;
comment on function loci_api.finish_reembedding(smallint) is
    'Make the filled embedding model the active one; returns how many still wait for it, 0 if it is active now. '
    'Operator only. Errors: 42501, 22023, 55P03.';
