-- Re-embedding: all vectors of another model, and the switch to it.

-- Begin to fill a model behind the active one: from the commit on, all that is written waits for a vector of both. A
-- model that is being filled already is joined. p_chosen: somebody asked for it by name. p_indexes makes its indexes
-- now, while it is empty: for callers that cannot build them concurrently, with little to fill. Writers wait for a
-- moment. Security definer; the operator's. Errors: 42501, 22023 (no model is active, this one is, another is being
-- filled, vectors of an earlier use are left, other dimensions), 55P03 (writers did not let go).
create or replace function loci_api.begin_reembedding(
    p_name text, p_dimensions integer, p_asks integer default null, p_chosen boolean default true,
    p_indexes boolean default false)
returns smallint
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_known loci_data.embedding_models;
    v_model loci_data.embedding_models;
    v_wrong text;
begin
    perform loci_internal.require_operator('change the embedding model');
    perform loci_internal.hold_writers();
    select * into v_known from loci_data.embedding_models m where m.name = p_name;
    v_wrong := case
        when not exists (select from loci_data.embedding_models m where m.active)
            then 'no embedding model is active, so there is none to take the place of'
        when v_known.active then format('the model %s is active already', p_name)
        when exists (select from loci_data.embedding_models m where m.filling and m.name <> p_name)
            then (select format('the model %s is being filled: go on with that one, or cancel it first', m.name)
                  from loci_data.embedding_models m where m.filling)
        when not v_known.in_use and v_known.dropped_at is null
            then format('the model %s has vectors of an earlier use, which must be dropped first', p_name)
    end;
    if v_wrong is not null then
        raise invalid_parameter_value using column = 'model', message = v_wrong;
    end if;
    v_model := loci_internal.upsert_embedding_model(p_name, p_dimensions, p_asks);
    update loci_data.embedding_models m
    set filling = true, second = false, chosen = m.chosen or p_chosen, dropped_at = null, queued_at = case
        when m.filling then m.queued_at end where m.id = v_model.id;
    if p_indexes then
        perform loci_internal.create_vector_indexes(v_model.id);
    end if;
    return v_model.id;
end $$;
comment on function loci_api.begin_reembedding(text, integer, integer, boolean, boolean) is
    'Begin to fill an embedding model behind the active one, or join in. Operator only. Errors: 42501, 22023, 55P03.';

-- Stop filling a model: it is retired, and its vectors are to be dropped (delete_retired_vectors). Returns its name;
-- null: none was being filled. Security definer; the operator's. Errors: 42501.
create or replace function loci_api.cancel_reembedding() returns text
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_name text;
begin
    perform loci_internal.require_operator('change the embedding model');
    update loci_data.embedding_models m set filling = false, chosen = false, queued_at = null where m.filling
    returning m.name into v_name;
    return v_name;
end $$;
comment on function loci_api.cancel_reembedding() is
    'Stop filling an embedding model; returns its name. Operator only.';

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

-- Let nobody write memories, entities or models until the transaction ends. A holder of one of these tables may be
-- about to write the other. So this waits only briefly while it holds one, lets go and tries again: no other session
-- becomes the victim of a deadlock. Errors: 55P03 (they were not free together in fifty tries of up to 0.1 s).
create or replace function loci_internal.hold_writers() returns void
language plpgsql volatile set search_path from current
as $$
declare
    v_patience text := current_setting('lock_timeout');
begin
    for v_try in 1..50 loop
        begin
            set local lock_timeout = '100ms';
            lock table loci_data.memories, loci_data.entities, loci_data.embedding_models in share row exclusive mode;
            perform set_config('lock_timeout', v_patience, true);
            return;
        exception when lock_not_available then
            perform pg_sleep(0.02 * random());
        end;
    end loop;
    raise lock_not_available using message = 'others have been writing memories and entities all the time; try again';
end $$;
comment on function loci_internal.hold_writers() is
    'Let nobody write memories, entities or models until the transaction ends, without a deadlock. Errors: 55P03.';

-- Queue what a namespace holds and a model has not embedded: memories, and entities that were not merged. A second
-- model is asked of no entities. Waits for an
-- erasure under way, and holds off new ones: else it might queue what is being erased. Two anti joins over indexes.
create or replace function loci_internal.queue_missing_vectors(p_namespace_id integer, p_model_id smallint)
returns bigint
language plpgsql volatile set search_path from current
as $$
declare
    v_memories bigint;
    v_entities bigint;
begin
    perform loci_internal.lock_shared(p_namespace_id, 'worker');
    insert into loci_data.embedding_queue (namespace_id, memory_id, model_id)
    select m.namespace_id, m.id, p_model_id from loci_data.memories m
    where m.namespace_id = p_namespace_id and not exists (select from loci_data.memory_vectors v
                      where v.namespace_id = p_namespace_id and v.memory_id = m.id and v.model_id = p_model_id)
    on conflict do nothing;
    get diagnostics v_memories = row_count;
    insert into loci_data.entity_queue (namespace_id, entity_id, model_id)
    select e.namespace_id, e.id, p_model_id from loci_data.entities e
    where e.namespace_id = p_namespace_id and e.merged_into is null
      and not (select m.second from loci_data.embedding_models m where m.id = p_model_id)
      and not exists (select from loci_data.entity_vectors v
                      where v.namespace_id = p_namespace_id and v.entity_id = e.id and v.model_id = p_model_id)
    on conflict do nothing;
    get diagnostics v_entities = row_count;
    return v_memories + v_entities;
end $$;
comment on function loci_internal.queue_missing_vectors(integer, smallint) is
    'Queue what a model has not embedded of a namespace.';
