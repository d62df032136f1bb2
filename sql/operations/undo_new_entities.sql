-- Entities that an operation wrote, or brought back, are removed, unless something else rests on them by now: a
-- believed edge, an active attribute, a pin, or a mention by a memory in force that another operation found. Only edges
-- and attributes count of one that had been removed by hand before. History keeps them; undoing this brings them back
-- (remove_entities). p_left: those to leave alone. Returns how many went, and how many stay.
create or replace function loci_internal.undo_new_entities(p_namespace_id integer, p_operation uuid, p_left uuid[],
                                                           out removed integer, out kept integer)
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_new  uuid[] := array(select e.id from loci_internal.net_changes(p_namespace_id, p_operation, 'entity') n
                           cross join lateral (select x.id, x.merged_into from loci_data.entities x
                                               where x.namespace_id = p_namespace_id and x.id = n.subject_id limit 1) e
                           where e.merged_into is null and n.subject_id <> all (p_left) and n.after is not null
                             and (n.created or (n.before ->> 'merged_into')::uuid = n.subject_id));
    v_back uuid[] := array(select n.subject_id from loci_internal.net_changes(p_namespace_id, p_operation, 'entity') n
                           where not n.created);
    v_gone uuid[];
begin
    perform from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = any (v_new)
        order by e.canonical_name, e.id for update;
    v_gone := array(
        select u.id from unnest(v_new) u(id)
        where (u.id = any (v_back) or not exists (select from loci_data.entities e
                                                  where e.namespace_id = p_namespace_id and e.id = u.id
                                                    and e.pinned_at is not null))
          and not exists (select from loci_data.edges e where e.namespace_id = p_namespace_id and e.source_id = u.id
                          and e.superseded_at is null)
          and not exists (select from loci_data.edges e where e.namespace_id = p_namespace_id and e.target_id = u.id
                          and e.superseded_at is null)
          and not exists (select from loci_data.aspects s
                          cross join lateral (select from loci_data.attributes a where a.namespace_id = p_namespace_id
                                              and a.aspect_id = s.id
                                              and a.status = 'active' limit 1) a
                          where s.namespace_id = p_namespace_id and s.entity_id = u.id)
          and (u.id = any (v_back) or not exists (select from loci_data.memory_mentions m
                          cross join lateral (select from loci_data.memories o where o.namespace_id = p_namespace_id
                                              and o.id = m.memory_id
                                              and o.status = 'active' limit 1) o
                          where m.namespace_id = p_namespace_id and m.entity_id = u.id and m.operation_id
                              is distinct from p_operation)));
    if v_gone <> '{}' then
        v_gone := loci_internal.remove_entities(p_namespace_id, v_gone, clock_timestamp());
    end if;
    removed := cardinality(v_gone);
    kept := cardinality(v_new) - removed;
end $$;
comment on function loci_internal.undo_new_entities(integer, uuid, uuid[]) is
    'Remove the entities that an operation wrote and nothing else rests on; how many went, and how many stay.';
