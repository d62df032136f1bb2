-- Give edges of one entity to another: those believed now (p_ids: only these). Each is closed and recorded anew with
-- the other end, at one moment, so that known_at before it still shows them as they were. Where the other has an edge
-- of the same type and target, the two become one, with the evidence of both. An edge between the two would lead from
-- an entity to itself: it is only closed. edge_moves says what each edge became. Edges are locked in order of id;
-- both entities are the caller's. Returns how many moved.
create or replace function loci_internal.move_edges(p_namespace_id integer, p_merge_id uuid, p_from uuid, p_to uuid,
                                                    p_ids uuid[], p_at timestamptz)
returns integer
language plpgsql volatile set search_path = '' set plan_cache_mode = force_custom_plan set enable_seqscan = off
as $$
declare
    v_ids   uuid[];
    v_moved integer;
    v_gone  uuid[];
    v_plan  jsonb;
begin
    v_ids := array(
        select e.id from loci_data.edges e
        where e.namespace_id = p_namespace_id and e.source_id = p_from and e.superseded_at is null
          and (p_ids is null or e.id = any(p_ids))
        union
        select e.id from loci_data.edges e
        where e.namespace_id = p_namespace_id and e.target_id = p_from and e.superseded_at is null
          and (p_ids is null or e.id = any(p_ids)));
    v_ids := v_ids || array(  -- those that they meet
        select loci_internal.find_edge_id(p_namespace_id, case when e.source_id = p_from then p_to
                                          else e.source_id end, e.type,
                            case when e.target_id = p_from then p_to else e.target_id end, e.literal)
        from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any(v_ids));
    perform from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any(v_ids) order by e.id for update;

    insert into loci_data.edge_moves (namespace_id, merge_id, old_id, new_id, part)
    select p_namespace_id, p_merge_id, x.id, m.new_id, x.part
    from (select loci_api.uuid7() as new_id, e.id, e.loop, e.met
          from (select i.id, (i.source_id, i.target_id) in ((p_from, p_to), (p_to, p_from)) as loop,
                       loci_internal.find_edge_id(p_namespace_id, case when i.source_id = p_from then p_to
                                                  else i.source_id end, i.type,
                                    case when i.target_id = p_from then p_to else i.target_id end, i.literal) as met
                from loci_data.edges i
                where i.namespace_id = p_namespace_id and i.id = any(v_ids) and i.superseded_at is null
                  and p_from in (i.source_id, i.target_id) order by i.id) e) m
    cross join lateral (values (m.id, case when m.loop then 'loop' else 'moved' end),
                        (case when not m.loop then m.met end, 'joined')) x(id, part)
    where x.id is not null;
    select count(*) filter (where m.part <> 'joined') into v_moved
    from loci_data.edge_moves m where m.namespace_id = p_namespace_id and m.merge_id = p_merge_id
        and m.part <> 'undone';

    with part as materialized (
        select m.new_id, m.old_id, m.part from loci_data.edge_moves m
        where m.namespace_id = p_namespace_id and m.merge_id = p_merge_id and m.part in ('moved', 'joined')
    ), shown as (
        select p.new_id, array_agg(o.id order by p.part, o.recorded_at, o.id) as ids
        from part p
        cross join lateral (select v.id, v.recorded_at from loci_data.edge_observations v
                            where v.namespace_id = p_namespace_id and v.edge_id = p.old_id offset 0) o
        group by p.new_id
    ), ends as (
        select p.new_id, (array_agg(case when e.source_id = p_from then p_to else e.source_id end))[1] as source_id,
               (array_agg(case when e.target_id = p_from then p_to else e.target_id end))[1] as target_id,
               array_agg(p.old_id order by p.part) as base
        from part p
        cross join lateral (select i.source_id, i.target_id from loci_data.edges i
                            where i.namespace_id = p_namespace_id and i.id = p.old_id limit 1) e
        group by p.new_id
    )
    select jsonb_agg(jsonb_build_object('id', e.new_id, 'source_id', e.source_id, 'target_id', e.target_id,
                                        'base', e.base, 'evidence', s.ids))
    into v_plan from ends e left join shown s using (new_id);
    v_gone := array(select m.old_id from loci_data.edge_moves m
                    where m.namespace_id = p_namespace_id and m.merge_id = p_merge_id);
    perform loci_internal.close_edges(p_namespace_id, v_gone, p_at);
    perform loci_internal.record_edges(p_namespace_id, coalesce(v_plan, '[]'), v_gone, p_at);
    return v_moved;
end $$;
comment on function loci_internal.move_edges(integer, uuid, uuid, uuid, uuid[], timestamptz) is
    'Record the edges of an entity anew on another; how many.';
