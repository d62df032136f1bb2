-- Take entities out of the graph without losing what was known of them: each keeps its row and leads nowhere
-- (merged_into is its own id), so that its name is free, and whatever looks for entities that stand for themselves
-- passes it by. At the same moment its edges are no longer believed, and its attributes are deleted; mentions,
-- aspects and the pin stay on it, out of sight. Before that moment (known_at) everything is as it was. return_entities
-- brings it all back. Those that are merged or removed already are passed over. p_at: not before this. Locks like every
-- writer: entities by canonical_name, aspects, edges by id, attributes. Returns those removed. Cost follows what hangs
-- on them. Errors: 40001 (one is gone).
create or replace function loci_internal.remove_entities(p_namespace_id integer, p_ids uuid[], p_at timestamptz)
returns uuid[]
language plpgsql volatile set search_path = '' set plan_cache_mode = force_custom_plan set enable_seqscan = off
as $$
declare
    v_at    timestamptz := greatest(p_at, loci_internal.lock_entities(p_namespace_id, p_ids));
    v_ids   uuid[] := array(select e.id from loci_data.entities e
                            where e.namespace_id = p_namespace_id and e.id = any(p_ids) and e.merged_into is null
                            order by e.id);
    v_edges uuid[];
    v_facts uuid[];
begin
    if v_ids = '{}' then
        return v_ids;
    end if;
    perform from loci_data.aspects a where a.namespace_id = p_namespace_id and a.entity_id = any(v_ids) order by a.id
        for no key update;
    v_edges := array(
        select e.id from loci_data.edges e where e.namespace_id = p_namespace_id and e.source_id = any(v_ids)
            and e.superseded_at is null
        union
        select e.id from loci_data.edges e where e.namespace_id = p_namespace_id and e.target_id = any(v_ids)
            and e.superseded_at is null);
    perform from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any(v_edges) order by e.id
        for update;
    -- one moment for all of it, by which return_entities finds what went: after every change of what goes
    v_at := greatest(v_at, (select max(e.updated_at) + interval '1 microsecond' from loci_data.edges e
                            where e.namespace_id = p_namespace_id and e.id = any(v_edges)));
    set local plan_cache_mode = auto;  -- triggers go by it, a row at a time
    perform loci_internal.close_edges(p_namespace_id, v_edges, v_at);
    perform loci_internal.refold_edges(p_namespace_id, v_edges, v_at);
    v_facts := array(select a.id from loci_data.attributes a
                     where a.namespace_id = p_namespace_id and a.taken_back_at is null and a.aspect_id = any(array(
                           select s.id from loci_data.aspects s where s.namespace_id = p_namespace_id
                               and s.entity_id = any(v_ids)))
                     order by a.id for no key update);
    update loci_data.attributes t set taken_back_at = v_at, updated_at = greatest(t.updated_at, v_at)
    where t.namespace_id = p_namespace_id and t.id = any(v_facts);
    perform loci_internal.refold_facts(p_namespace_id, v_facts, v_at);
    update loci_data.entities e set merged_into = e.id, merged_at = v_at, updated_at = v_at
    where e.namespace_id = p_namespace_id and e.id = any(v_ids);
    return v_ids;
end $$;
comment on function loci_internal.remove_entities(integer, uuid[], timestamptz) is
    'Take entities out of the graph, with their edges and attributes; history keeps them. Errors: 40001.';
