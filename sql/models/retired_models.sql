-- Retired models: their queues and vectors are deleted.

-- Delete the next vectors of a retired model: those of the next p_limit keys after (p_namespace, p_id), of memories,
-- then of entities (p_table). Returns where to go on; no row: that table is done. Ranges of the primary key, so what
-- was deleted before is not read again. Security definer; the operator's. Errors: 42501, 22023 (the model is in use).
create or replace function loci_api.delete_retired_vectors(
    p_model_id smallint, p_table text, p_namespace integer default 0, p_id uuid default null,
    p_limit integer default 5000)
returns table (namespace_id integer, id uuid, dropped bigint)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    perform loci_internal.require_operator('change the embedding model');
    if exists (select from loci_data.embedding_models m where m.id = p_model_id and m.in_use) then
        raise invalid_parameter_value using column = 'model', message = 'this model is in use';
    end if;
    for namespace_id in select n.id from loci_data.namespaces n where n.id >= p_namespace order by n.id loop
        if p_table = 'memory_vectors' then
            with next as materialized (
                select v.memory_id from loci_data.memory_vectors v
                where v.namespace_id = delete_retired_vectors.namespace_id and v.model_id = p_model_id
                  and v.memory_id > coalesce(case when delete_retired_vectors.namespace_id = p_namespace then p_id end,
                                             loci_internal.nil_uuid())
                order by v.memory_id limit p_limit
            ), gone as (
                delete from loci_data.memory_vectors v
                where v.namespace_id = delete_retired_vectors.namespace_id and v.model_id = p_model_id
                  and v.memory_id = any (array(select n.memory_id from next n))
            )
            select (select n.memory_id from next n order by n.memory_id desc limit 1),
                   (select count(*) from next) into id, dropped;
        else
            with next as materialized (
                select v.entity_id from loci_data.entity_vectors v
                where v.namespace_id = delete_retired_vectors.namespace_id and v.model_id = p_model_id
                  and v.entity_id > coalesce(case when delete_retired_vectors.namespace_id = p_namespace then p_id end,
                                             loci_internal.nil_uuid())
                order by v.entity_id limit p_limit
            ), gone as (
                delete from loci_data.entity_vectors v
                where v.namespace_id = delete_retired_vectors.namespace_id and v.model_id = p_model_id
                  and v.entity_id = any (array(select n.entity_id from next n))
            )
            select (select n.entity_id from next n order by n.entity_id desc limit 1),
                   (select count(*) from next) into id, dropped;
        end if;
        if dropped > 0 then
            return next;
            return;
        end if;
    end loop;
end $$;
comment on function loci_api.delete_retired_vectors(smallint, text, integer, uuid, integer) is
    'Delete the next vectors of a retired embedding model; where to go on, or no row at the end. Operator only. '
    'Errors: 42501, 22023.';

-- Take what waits for a retired model off the queues, at most p_limit rows of each; how many were there. A row that a
-- worker holds is not waited for: the worker takes it off itself, or drop_retired_model does. Security definer; the
-- operator's. Errors: 42501, 22023 (in use).
create or replace function loci_api.clear_model_queues(p_model_id smallint, p_limit integer default 10000)
returns bigint
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_memories bigint;
    v_entities bigint;
begin
    perform loci_internal.require_operator('change the embedding model');
    if exists (select from loci_data.embedding_models m where m.id = p_model_id and m.in_use) then
        raise invalid_parameter_value using column = 'model', message = 'this model is in use';
    end if;
    delete from loci_data.embedding_queue q
    where q.ctid = any (array(select w.ctid from loci_data.embedding_queue w
                              where w.model_id = p_model_id limit p_limit for update skip locked));
    get diagnostics v_memories = row_count;
    delete from loci_data.entity_queue q
    where q.ctid = any (array(select w.ctid from loci_data.entity_queue w where w.model_id = p_model_id limit p_limit
                              for update skip locked));
    get diagnostics v_entities = row_count;
    return v_memories + v_entities;
end $$;
comment on function loci_api.clear_model_queues(smallint, integer) is
    'Take the next of what waits for a retired embedding model off the queues; how many. Operator only. Errors: '
    '42501, 22023.';

-- The last steps of dropping a retired model, one a call: the next of its indexes; when none is left, what still waits
-- for it, and a note that it is gone. True: it is; false: call again. Readers of a partition wait while its index is
-- dropped, and the drop waits for them and for workers, so set lock_timeout; `loci reembed` drops them concurrently
-- before, as the owner. Security definer (drops indexes); the operator's. Errors: 42501, 22023 (in use), 55P03.
create or replace function loci_api.drop_retired_model(p_model_id smallint) returns boolean
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_index text;
begin
    perform loci_internal.require_operator('change the embedding model');
    if exists (select from loci_data.embedding_models m where m.id = p_model_id and m.in_use) then
        raise invalid_parameter_value using column = 'model', message = 'this model is in use';
    end if;
    select i.name into v_index from loci_api.vector_indexes(p_model_id) i where i.valid is not null
    order by i.name limit 1;
    if found then
        execute format('drop index if exists loci_data.%I', v_index);
        return false;
    end if;
    delete from loci_data.embedding_queue q where q.model_id = p_model_id;
    delete from loci_data.entity_queue q where q.model_id = p_model_id;
    delete from loci_data.vector_means m where m.model_id = p_model_id;
    delete from loci_data.projections p where p.model_id = p_model_id;
    delete from loci_data.map_layouts l where l.model_id = p_model_id;
    update loci_data.embedding_models m set dropped_at = clock_timestamp() where m.id = p_model_id;
    return true;
end $$;
comment on function loci_api.drop_retired_model(smallint) is
    'Drop the next index of a retired embedding model that has no vectors; true when there is none left. Operator '
    'only. Errors: 42501, 22023, 55P03.';
