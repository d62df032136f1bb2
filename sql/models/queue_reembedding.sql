-- Queue what was there before a model began to be filled, or to be the second, one namespace a call: the next one
-- after p_after (null: the first). Null: there is none, and the model is noted as queued. May be repeated from the
-- start. Security definer; the operator's. Errors: 42501.
create or replace function loci_api.queue_reembedding(p_model_id smallint, p_after integer default null) returns integer
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_next integer;
begin
    perform loci_internal.require_operator('change the embedding model');
    select n.id into v_next from loci_data.namespaces n where p_after is null or n.id > p_after order by n.id limit 1;
    if v_next is null then
        update loci_data.embedding_models m set queued_at = clock_timestamp() where m.id = p_model_id and m.in_use
            and m.queued_at is null;
    else
        perform loci_internal.queue_missing_vectors(v_next, p_model_id);
    end if;
    return v_next;
end $$;
comment on function loci_api.queue_reembedding(smallint, integer) is
    'Queue the next namespace for a model that is being filled, or the second; null after the last. Operator only.';
