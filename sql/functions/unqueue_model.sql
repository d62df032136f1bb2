-- Take what waits for a retired model off the queues, at most p_limit rows of each; how many were there. What a worker holds stays: it takes it off itself, and
-- such a row does no harm. Security definer; the operator's. Called by service/models/reembedding.py. Errors: 42501, 22023 (in use).
create or replace function loci.unqueue_model(p_model_id smallint, p_limit integer default 10000) returns bigint
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_memories bigint;
    v_entities bigint;
begin
    perform loci.require_operator('change the embedding model');
    if exists (select from loci_data.embedding_models m where m.id = p_model_id and (m.active or m.filling)) then
        raise invalid_parameter_value using column = 'model', message = 'this model is in use';
    end if;
    delete from loci_data.embedding_queue q
    where q.ctid = any (array(select w.ctid from loci_data.embedding_queue w where w.model_id = p_model_id limit p_limit for update skip locked));
    get diagnostics v_memories = row_count;
    delete from loci_data.entity_queue q
    where q.ctid = any (array(select w.ctid from loci_data.entity_queue w where w.model_id = p_model_id limit p_limit for update skip locked));
    get diagnostics v_entities = row_count;
    return v_memories + v_entities;
end $$;
comment on function loci.unqueue_model(smallint, integer) is 'Take the next of what waits for a retired embedding model off the queues; how many. Operator only. Errors: 42501, 22023.';
