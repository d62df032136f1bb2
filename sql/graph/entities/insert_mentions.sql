-- Record which memories mention which entities, once a pair, and count them in entities.mentions, but for forgotten
-- memories. A mention found in a
-- text is no observation: it says that a name stands there. Idempotent. Memories are locked first (lock_evidence), then
-- entities, in order of canonical_name, like everywhere. Returns how many mentions are new.
create or replace function loci_internal.insert_mentions(p_namespace_id integer, p_mentions jsonb) returns integer
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan
-- where there is a choice: the size of a batch is unknown to the planner
set enable_nestloop = off set enable_seqscan = off
as $$
declare
    v_new integer;
begin
    perform loci_internal.current_operation_id();  -- of which its mentions and evidence are
    perform loci_internal.lock_evidence(p_namespace_id, array(
        select distinct i.memory_id from jsonb_to_recordset(p_mentions) i(memory_id uuid)));
    perform from loci_data.entities e
    where e.namespace_id = p_namespace_id
      and e.id = any(array(select distinct i.entity_id from jsonb_to_recordset(p_mentions) i(entity_id uuid)))
    order by e.canonical_name for no key update;
    with added as (
        insert into loci_data.memory_mentions as m (namespace_id, memory_id, entity_id, mention_text)
        select distinct on (i.memory_id, i.entity_id) p_namespace_id, i.memory_id, i.entity_id,
                        coalesce(i.mention_text, '')
        from rows from (jsonb_to_recordset(p_mentions) as (memory_id uuid, entity_id uuid, mention_text text))
             with ordinality as i(memory_id, entity_id, mention_text, ordinal)
        order by i.memory_id, i.entity_id, i.ordinal
        on conflict (namespace_id, memory_id, entity_id) do nothing
        returning m.entity_id, m.memory_id
    ), counted as materialized (
        select a.entity_id, count(*)::integer as times from added a
        cross join lateral (select from loci_data.memories o where o.namespace_id = p_namespace_id
                            and o.id = a.memory_id and o.status = 'active' offset 0) o
        group by a.entity_id
    ), raised as (
        update loci_data.entities e set mentions = e.mentions + c.times
        from counted c
        where e.namespace_id = p_namespace_id and e.id = any(array(select x.entity_id from counted x))
          and e.id = c.entity_id
    )
    select coalesce(sum(c.times), 0) into v_new from counted c;
    return v_new;
end $$;
comment on function loci_internal.insert_mentions(integer, jsonb) is
    'Store mentions, JSON array of {memory_id, entity_id, mention_text?}, and raise the entities'' counters by '
    'those that are new.';
