-- Graph cleanup pass: edges and entities that are removed.

-- Remove edges and entities that a model would rather not have, as far as the guards let it: edges_to_remove, then
-- entities_to_remove, under the locks that every writer takes. p_plan: {entities: [{id, seen}], edges: [{id, reason:
-- redundant | low_confidence | outdated, seen}]}; seen: updated_at as it was shown. No more edges and no more entities
-- go than a pass may remove, the weakest first; the guard share keeps the rest for the next one. Removing is soft:
-- history keeps everything, and undoing the operation brings it back. One row a thing: kind edge or entity, and the
-- guard that kept it; null: it is removed. Set-based. Security definer: writes past the policies; checks the caller
-- itself. Errors: 42501, P0002, 22023 (reason), 40001.
create or replace function loci_api.apply_graph_cleanup(p_namespace text, p_plan jsonb)
returns table (kind text, id uuid, guard text)
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'writer');
    v_edges    jsonb := coalesce(p_plan -> 'edges', '[]');
    v_entities jsonb := coalesce(p_plan -> 'entities', '[]');
    v_kept     jsonb;
    v_going    uuid[];
    v_removed  uuid[];
    v_wrong    text := (select e ->> 'reason' from jsonb_array_elements(v_edges) e
                        where coalesce(e ->> 'reason', '') not in ('redundant', 'low_confidence', 'outdated') limit 1);
begin
    if exists (select from jsonb_array_elements(v_edges) e where
               coalesce(e ->> 'reason', '') not in ('redundant', 'low_confidence', 'outdated')) then
        raise invalid_parameter_value using column = 'reason',
            message = format('reason must be redundant, low_confidence or outdated, not %L', v_wrong);
    end if;
    perform from loci_data.entities e
    where e.namespace_id = v_ns
      and e.id = any (array(select (i ->> 'id')::uuid from jsonb_array_elements(v_entities) i))
    order by e.canonical_name, e.id for update;
    perform from loci_data.edges e
    where e.namespace_id = v_ns and e.id = any (array(select (i ->> 'id')::uuid from jsonb_array_elements(v_edges) i))
    order by e.id for update;

    select jsonb_agg(to_jsonb(k)), coalesce(array_agg(k.id) filter (where k.guard is null), '{}') into v_edges, v_going
    from loci_internal.edges_to_remove(v_ns, v_edges) k;
    select jsonb_agg(to_jsonb(k)), coalesce(array_agg(k.id) filter (where k.guard is null), '{}') into v_entities,
           v_removed
    from loci_internal.entities_to_remove(v_ns, v_entities, v_going) k;

    perform loci_internal.close_edges(v_ns, v_going, clock_timestamp());
    perform loci_internal.refold_edges(v_ns, v_going, clock_timestamp());
    perform loci_internal.remove_entities(v_ns, v_removed, clock_timestamp());
    return query select 'edge', k.id, k.guard from jsonb_to_recordset(v_edges) k(id uuid, guard text) order by k.id;
    return query select 'entity', k.id, k.guard from jsonb_to_recordset(v_entities) k(id uuid, guard text)
        order by k.id;
end $$;
comment on function loci_api.apply_graph_cleanup(text, jsonb) is
    'Remove edges and entities that a model proposes, as far as the guards allow; one row a thing, with the guard '
    'that kept it. Errors: 42501, P0002, 22023, 40001.';

-- Which of these edges does a pass remove, and which guard keeps the others? Those that no guard of protected_edges
-- keeps, the weakest first: by effective confidence, then those that were not observed for the longest time; at most
-- as many as it may (removal_allowance). The rest is kept by the guard share.
create or replace function loci_internal.edges_to_remove(p_namespace_id integer, p_edges jsonb)
returns table (id uuid, guard text)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select k.id, case when k.guard is null and row_number() over (
                          partition by k.guard is null
                          order by loci.effective_confidence(e.confidence,
                                                             loci_internal.decay_rate(p_namespace_id, e.type),
                                                             e.restored_at, clock_timestamp()),
                                   e.last_observed_at, k.id) > m.most then 'share' else k.guard end
    from loci_internal.protected_edges(p_namespace_id, p_edges) k
    left join lateral (select o.confidence, o.type, o.restored_at, o.last_observed_at from loci_data.edges o
                       where o.namespace_id = p_namespace_id and o.id = k.id limit 1) e on true
    cross join (select loci_internal.removal_allowance(p_namespace_id, count(*)) as most from loci_data.edges a
                where a.namespace_id = p_namespace_id and a.superseded_at is null) m
$$;
comment on function loci_internal.edges_to_remove(integer, jsonb) is
    'Edges that a pass removes, weakest first up to its share, and the guard that keeps each other.';

-- The same of entities: those that no guard of protected_entities keeps, the least mentioned first, then the oldest.
create or replace function loci_internal.entities_to_remove(p_namespace_id integer, p_entities jsonb, p_going uuid[])
returns table (id uuid, guard text)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select k.id, case when k.guard is null and row_number() over (
                          partition by k.guard is null order by e.mentions, e.created_at, k.id) > m.most then 'share'
                      else k.guard end
    from loci_internal.protected_entities(p_namespace_id, p_entities, p_going) k
    left join lateral (select o.mentions, o.created_at from loci_data.entities o
                       where o.namespace_id = p_namespace_id and o.id = k.id limit 1) e on true
    cross join (select loci_internal.removal_allowance(p_namespace_id, count(*)) as most from loci_data.entities a
                where a.namespace_id = p_namespace_id and a.merged_into is null) m
$$;
comment on function loci_internal.entities_to_remove(integer, jsonb, uuid[]) is
    'Entities that a pass removes, least mentioned first up to its share, and the guard that keeps each other.';

-- Which of these entities does a pass have to keep, and by which guard? p_entities: [{id, seen}], seen: its updated_at
-- when it was shown. p_going: edges that go before them. A row for each; guard null: it may go.
--   gone, person, pinned   not there or removed, a person, pinned
--   referenced             a text has matched it: last_referenced_at
--   mentioned              a memory in force mentions it, or it has facts
--   young                  made within dream_entity_days
--   changed                written or observed since it was shown
--   connected              an edge would be left
-- The caller holds their locks. Indexes as in stale_entities.
create or replace function loci_internal.protected_entities(p_namespace_id integer, p_entities jsonb, p_going uuid[])
returns table (id uuid, guard text)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select i.id, case
        when e.id is null then 'gone'
        when e.type = 'person' then 'person'
        when e.pinned_at is not null then 'pinned'
        when e.last_referenced_at is not null then 'referenced'
        when loci_internal.entity_is_supported(p_namespace_id, e.id) then 'mentioned'
        when e.created_at > clock_timestamp()
            - (loci_internal.settings(p_namespace_id) ->> 'dream_entity_days')::double precision * interval '24 hours'
                then 'young'
        when e.updated_at is distinct from i.seen then 'changed'
        when exists (select from loci_data.edges g where g.namespace_id = p_namespace_id and g.source_id = e.id
                     and g.superseded_at is null and g.id <> all (p_going))
          or exists (select from loci_data.edges g where g.namespace_id = p_namespace_id and g.target_id = e.id
                     and g.superseded_at is null and g.id <> all (p_going)) then 'connected' end
    from (select distinct on (j.id) j.* from jsonb_to_recordset(p_entities) j(id uuid, seen timestamptz)
          order by j.id) i
    left join lateral (select x.* from loci_data.entities x
                       where x.namespace_id = p_namespace_id and x.id = i.id and x.merged_into is null
                         and not x.hidden limit 1) e on true  -- a hidden one comes back with its memory
    order by i.id
$$;
comment on function loci_internal.protected_entities(integer, jsonb, uuid[]) is
    'Which guard keeps each of these entities from being removed by a pass; null: none.';
