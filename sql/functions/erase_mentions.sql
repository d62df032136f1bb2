-- What memories mention, once they are gone (row M9): the mentions go, the counters of the entities sink by as many, never below 0.
-- Returns the entities that reach 0 by this and go with them: those that are not pinned. Locked in order of canonical_name, like
-- everywhere. Index ranges of memory_mentions. Called by erase_memories; internal.
create or replace function loci.erase_mentions(p_namespace_id integer, p_ids uuid[]) returns uuid[]
language plpgsql volatile set search_path = ''
as $$
declare
    v_entities uuid[];
    v_times    bigint[];
    v_gone     uuid[];
begin
    select array_agg(c.entity_id), array_agg(c.times) into v_entities, v_times
    from (select m.entity_id, count(*) as times from loci_data.memory_mentions m
          where m.namespace_id = p_namespace_id and m.memory_id = any (p_ids) group by m.entity_id) c;
    if v_entities is null then
        return '{}';
    end if;
    perform from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = any (v_entities)
    order by e.canonical_name for update;
    delete from loci_data.memory_mentions m where m.namespace_id = p_namespace_id and m.memory_id = any (p_ids);
    with lowered as (
        update loci_data.entities e set mentions = greatest(e.mentions - c.times, 0)
        from unnest(v_entities, v_times) c(id, times)
        where e.namespace_id = p_namespace_id and e.id = c.id
        returning e.id, e.mentions, e.pinned
    )
    select array_agg(l.id) into v_gone from lowered l where l.mentions = 0 and not l.pinned;
    return coalesce(v_gone, '{}');
end $$;
comment on function loci.erase_mentions(integer, uuid[]) is 'Delete the mentions of memories and lower the counters of entities; those that nothing mentions any more. Internal.';
