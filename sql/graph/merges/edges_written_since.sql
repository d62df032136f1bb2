-- Which edges of an entity did somebody write since a moment, the newest 100? Under which of its names is not known. As
-- JSON [{id, source, type, target, literal}]. Indexes edges_source, edges_target, edge_observations_edge.
create or replace function loci_internal.edges_written_since(p_namespace_id integer, p_entity_id uuid,
                                                             p_since timestamptz) returns jsonb
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with near as (
        select e.id, e.source_id, e.type, e.target_id, e.literal from loci_data.edges e
        where e.namespace_id = p_namespace_id and e.source_id = p_entity_id and e.superseded_at is null
        union
        select e.id, e.source_id, e.type, e.target_id, e.literal from loci_data.edges e
        where e.namespace_id = p_namespace_id and e.target_id = p_entity_id and e.superseded_at is null
    ), written as (
        select n.*, o.at from near n
        cross join lateral (select max(v.recorded_at) as at from loci_data.edge_observations v
                            where v.namespace_id = p_namespace_id and v.edge_id = n.id) o
        where o.at > p_since order by o.at desc, n.id desc limit 100
    )
    select coalesce(jsonb_agg(jsonb_build_object('id', w.id, 'source', s.name, 'type', w.type, 'target', t.name,
                                                 'literal', w.literal) order by w.at desc, w.id desc), '[]')
    from written w
    join loci_data.entities s on s.namespace_id = p_namespace_id and s.id = w.source_id
    left join loci_data.entities t on t.namespace_id = p_namespace_id and t.id = w.target_id
$$;
comment on function loci_internal.edges_written_since(integer, uuid, timestamptz) is
    'Edges of an entity that were written since a moment, as JSON.';

-- When a merge was undone: the edges of the kept entity that p_choice names (edge_ids, as they are or were before)
-- go to the other, with all their evidence. They stand in edge_moves under a split of their own, which is undone
-- already. Errors: P0002 (an edge that the kept one does not have).
create or replace function loci_internal.give_edges_written_since(
    p_namespace_id integer, p_merge loci_data.entity_merges, p_choice jsonb) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_asked uuid[] := array(select i::uuid from jsonb_array_elements_text(
                                coalesce(nullif(p_choice -> 'edge_ids', 'null'), '[]')) i);
    v_ids   uuid[];
    v_wrong uuid;
    v_id    uuid := loci_api.uuid7();
    v_at    timestamptz;
begin
    if v_asked = '{}' then
        return;
    end if;
    v_at := loci_internal.lock_entities(p_namespace_id, array[p_merge.kept_id, p_merge.merged_id]);
    select a.id into v_wrong from unnest(v_asked) a(id)
    where not exists (select from loci_data.edges e
                      where e.namespace_id = p_namespace_id and p_merge.kept_id in (e.source_id, e.target_id)
                        and e.id = loci_internal.current_edge_id(p_namespace_id, a.id)) limit 1;
    if found then
        raise no_data_found using column = 'edge_ids',
            message = format('the kept entity has no such edge: %s', v_wrong);
    end if;
    v_ids := array(select loci_internal.current_edge_id(p_namespace_id, a.id) from unnest(v_asked) a(id));
    insert into loci_data.entity_merges (namespace_id, id, kind, kept_id, merged_id, reason, decided_at, decided_by,
                                         undone_at)
    values (p_namespace_id, v_id, 'split', p_merge.kept_id, p_merge.merged_id,
            format('edges that went with undoing the merge %s', p_merge.id), v_at, loci.current_agent(), v_at);
    perform loci_internal.move_edges(p_namespace_id, v_id, p_merge.kept_id, p_merge.merged_id, v_ids, v_at);
end $$;
comment on function loci_internal.give_edges_written_since(integer, loci_data.entity_merges, jsonb) is
    'Give edges of the kept entity to the one that was merged into it, when the merge is undone. Errors: P0002.';
