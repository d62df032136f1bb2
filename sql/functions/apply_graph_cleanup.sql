-- Remove edges and entities that a model would rather not have, as far as the guards let it (row L5): kept_edges, then kept_entities, under the
-- locks that every writer takes. p_plan: {entities: [{id, seen}], edges: [{id, reason: redundant | low_confidence | outdated, seen}]};
-- seen: updated_at as it was shown. More than dream_removed_share of the namespace's edges or of its entities: nothing is removed
-- (removal_limit), and a row of kind stopped says so in reason. Removing is soft: history keeps everything, and undoing the operation
-- brings it back. One row a thing: kind edge or entity, and the guard that kept it; null: it is removed.
-- Set-based. Called by the consolidation of the graph. Security definer: writes past the policies; checks the caller itself.
-- Errors: 42501, P0002, 22023 (reason), 40001.
create or replace function loci.apply_graph_cleanup(p_namespace text, p_plan jsonb)
returns table (kind text, id uuid, guard text, reason text)
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_ns       integer := loci.authorize(p_namespace, 'writer');
    v_edges    jsonb := coalesce(p_plan -> 'edges', '[]');
    v_entities jsonb := coalesce(p_plan -> 'entities', '[]');
    v_kept     jsonb;
    v_going    uuid[];
    v_removed  uuid[];
    v_wrong    text := (select e ->> 'reason' from jsonb_array_elements(v_edges) e
                        where coalesce(e ->> 'reason', '') not in ('redundant', 'low_confidence', 'outdated') limit 1);
begin
    if exists (select from jsonb_array_elements(v_edges) e where coalesce(e ->> 'reason', '') not in ('redundant', 'low_confidence', 'outdated')) then
        raise invalid_parameter_value using column = 'reason', message = format('reason must be redundant, low_confidence or outdated, not %L', v_wrong);
    end if;
    perform from loci_data.entities e
    where e.namespace_id = v_ns and e.id = any (array(select (i ->> 'id')::uuid from jsonb_array_elements(v_entities) i))
    order by e.canonical_name, e.id for update;
    perform from loci_data.edges e
    where e.namespace_id = v_ns and e.id = any (array(select (i ->> 'id')::uuid from jsonb_array_elements(v_edges) i)) order by e.id for update;

    select jsonb_agg(to_jsonb(k)), coalesce(array_agg(k.id) filter (where k.guard is null), '{}') into v_edges, v_going
    from loci.kept_edges(v_ns, v_edges) k;
    select jsonb_agg(to_jsonb(k)), coalesce(array_agg(k.id) filter (where k.guard is null), '{}') into v_entities, v_removed
    from loci.kept_entities(v_ns, v_entities, v_going) k;

    return query
    select 'stopped', null::uuid, 'breaker', s.reason
    from loci.stopped_cleanup(v_ns, cardinality(v_going), cardinality(v_removed)) s(reason) where s.reason is not null;
    if not found then
        perform loci.close_edges(v_ns, v_going, clock_timestamp());
        perform loci.remove_entities(v_ns, v_removed, clock_timestamp());
        return query select 'edge', k.id, k.guard, null from jsonb_to_recordset(v_edges) k(id uuid, guard text) order by k.id;
        return query select 'entity', k.id, k.guard, null from jsonb_to_recordset(v_entities) k(id uuid, guard text) order by k.id;
    end if;
end $$;
comment on function loci.apply_graph_cleanup(text, jsonb) is 'Remove edges and entities that a model proposes, as far as the guards allow; one row a thing, with the guard that kept it. Errors: 42501, P0002, 22023, 40001.';
