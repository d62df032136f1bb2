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
