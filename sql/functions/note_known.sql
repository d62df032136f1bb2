-- Entities that somebody stated, found in memories by name or alias (row R9): whole words, also in lower case and where no convention of
-- spelling tells a name. Each is a mention of the memory. Those of type extracted are left to note_names, which knows them as the worker
-- first saw them. p_namespaces and p_memories are parallel. Cost: that of find_entities, a text at a time; nothing in a namespace without
-- stated entities. Security definer; the operator's. Called by the worker. Errors: 42501.
create or replace function loci.note_known(p_namespaces integer[], p_memories uuid[]) returns integer
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_ns    integer;
    v_known jsonb;
    v_total integer := 0;
begin
    if loci.caller() is distinct from '00000000-0000-0000-0000-000000000000' then
        raise insufficient_privilege using message = 'only the operator may note known entities';
    end if;
    for v_ns in select distinct u from unnest(p_namespaces) u order by u loop
        continue when not exists (select from loci_data.entities e where e.namespace_id = v_ns and e.type <> 'extracted' and e.merged_into is null);
        select jsonb_agg(jsonb_build_object('memory_id', m.id, 'entity_id', e.id, 'mention_text', f.matched)) into v_known
        from unnest(p_namespaces, p_memories) c(namespace_id, memory_id)
        cross join lateral (select o.id, o.content from loci_data.memories o where o.namespace_id = v_ns and o.id = c.memory_id limit 1) m
        cross join lateral loci.find_entities(v_ns, left(m.content, 100000)) f
        cross join lateral (select n.id from loci_data.entities n
                            where n.namespace_id = v_ns and n.id = f.id and n.type <> 'extracted' and n.merged_into is null limit 1) e
        where c.namespace_id = v_ns;
        v_total := v_total + coalesce(loci.mention_entities(v_ns, v_known), 0);
        perform loci.see_entities(v_ns, array_agg(k.entity_id), array_agg(m.valid_from), clock_timestamp())
        from jsonb_to_recordset(v_known) k(memory_id uuid, entity_id uuid)
        join loci_data.memories m on m.namespace_id = v_ns and m.id = k.memory_id
        having count(*) > 0;
    end loop;
    return v_total;
end $$;
comment on function loci.note_known(integer[], uuid[]) is 'Mentions of stated entities in the texts of memories; returns the number of new mentions. Operator only.';
