-- The last steps of dropping a retired model, one a call: the next of its indexes; when none is left, a note that it is gone. True: it is; false: call again.
-- Readers of a partition wait while its index is dropped, and it waits for them, so set lock_timeout; `loci reembed` drops them concurrently before, as the owner.
-- Security definer (drops indexes); the operator's. Called by service/models/reembedding.py. Errors: 42501, 22023 (in use), 55P03.
create or replace function loci.forget_model(p_model_id smallint) returns boolean
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_index text;
begin
    perform loci.require_operator('change the embedding model');
    if exists (select from loci_data.embedding_models m where m.id = p_model_id and (m.active or m.filling)) then
        raise invalid_parameter_value using column = 'model', message = 'this model is in use';
    end if;
    select i.name into v_index from loci.vector_indexes(p_model_id) i where i.valid is not null order by i.name limit 1;
    if found then
        execute format('drop index if exists loci_data.%I', v_index);
        return false;
    end if;
    update loci_data.embedding_models m set dropped_at = clock_timestamp() where m.id = p_model_id;
    return true;
end $$;
comment on function loci.forget_model(smallint) is 'Drop the next index of a retired embedding model that has no vectors; true when there is none left. Operator only. Errors: 42501, 22023, 55P03.';
