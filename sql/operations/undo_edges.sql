-- Undo of edges and their evidence.

-- Edges become what they were before an operation. Its evidence goes: an edge that rests on nothing else is taken back,
-- another is recorded anew with the rest; one that it took back is recorded anew. So each moment keeps its answer
-- (known_at), as with merges; and what had made way for an edge goes on. Then strength, aspect and metadata that it
-- changed are as before. Merges that moved such an edge can still be undone: edge_moves follows it. Locks like every
-- writer: the ends are locked (lock_undone), then edges in order of id. p_left: edges to leave alone. Returns how
-- many were taken back, came back or changed.
create or replace function loci_internal.undo_edges(p_namespace_id integer, p_operation uuid, p_left uuid[])
returns integer
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_made    uuid[];
    v_present uuid[];
    v_lost    uuid[];
    v_ended   uuid[];
    v_plan    jsonb;
    v_decided uuid[] := loci_internal.undo_edge_supersessions(p_namespace_id, p_operation, p_left);
    v_at      timestamptz;
    v_count   integer;
begin
    select coalesce(array_agg(n.subject_id) filter (where n.created), '{}'),
           coalesce(array_agg(n.subject_id) filter (where not n.created and n.after ->> 'superseded_at' is not null),
                    '{}')
    into v_made, v_lost
    from loci_internal.net_changes(p_namespace_id, p_operation, 'edge') n
    where n.after is not null and n.subject_id <> all (p_left)
      and not (n.created and n.after ->> 'superseded_at' is not null);
    v_present := array(select loci_internal.current_edge_id(p_namespace_id, m.id)
                       from unnest(v_made) with ordinality m(id, place) order by m.place);
    v_lost := array(select l.id from unnest(v_lost) l(id)
                    join loci_data.edges e on e.namespace_id = p_namespace_id and e.id = l.id
                         and e.superseded_at is not null
                    where loci_internal.current_edge_id(p_namespace_id, l.id) is null
                      or loci_internal.current_edge_id(p_namespace_id, l.id) = any (v_present));
    v_ended := array(select distinct o.edge_id from loci_data.edge_observations o
                     where o.namespace_id = p_namespace_id and o.operation_id = p_operation
                     union select u.id from unnest(v_present) u(id) where u.id is not null);
    v_ended := array(select e.id from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any (v_ended)
                     and e.superseded_at is null order by e.id for update);
    v_at := greatest(clock_timestamp(),
                     (select max(e.updated_at) from loci_data.edges e where e.namespace_id = p_namespace_id
                      and e.id = any (v_ended))
                                        + interval '1 microsecond');
    select coalesce(jsonb_agg(to_jsonb(u)), '[]') into v_plan
    from loci_internal.undo_evidence(p_namespace_id, p_operation, v_made, v_present, v_lost) u;
    perform loci_internal.close_edges(p_namespace_id, v_ended, v_at);
    perform loci_internal.record_edges(p_namespace_id, v_plan, v_ended || v_lost || v_decided, v_at);
    perform loci_internal.follow_edge_moves(p_namespace_id, v_plan);
    v_count := loci_internal.restore_edge_fields(p_namespace_id, p_operation, p_left, v_at);
    return greatest(v_count, (select count(*) from (select unnest(v_ended) union select unnest(v_lost)) touched));
end $$;
comment on function loci_internal.undo_edges(integer, uuid, uuid[]) is
    'Make the edges of an operation what they were before it; how many.';

-- Edges recorded anew stand in edge_moves where those do from which they come, so that merges that moved these can
-- still be undone.
create or replace function loci_internal.follow_edge_moves(p_namespace_id integer, p_plan jsonb) returns void
language sql volatile set search_path = '' set enable_seqscan = off
as $$
    insert into loci_data.edge_moves (namespace_id, merge_id, old_id, new_id, part)
    select distinct p_namespace_id, m.merge_id, o.id, u.id, 'undone'
    from jsonb_to_recordset(p_plan) u(id uuid, base uuid[], replaces uuid)
    cross join lateral unnest(u.base || u.replaces) o(id)
    join loci_data.edge_moves m on m.namespace_id = p_namespace_id and m.new_id = o.id
$$;
comment on function loci_internal.follow_edge_moves(integer, jsonb) is
    'Note edges recorded anew where merges moved those before them.';

-- Strength, aspect and metadata that an operation changed in edges are as before. Returns how many edges changed.
create or replace function loci_internal.restore_edge_fields(p_namespace_id integer, p_operation uuid, p_left uuid[],
                                                             p_at timestamptz) returns integer
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_count integer;
begin
    update loci_data.edges e
    set strength = b.strength, aspect_id = b.aspect_id, metadata = b.metadata,
        updated_at = greatest(e.updated_at, p_at)
    from (select loci_internal.current_edge_id(p_namespace_id, n.subject_id) as id,
          n.before - '{superseded_at,confidence,valid_from,valid_to,spells}'::text[] as fields
          from loci_internal.net_changes(p_namespace_id, p_operation, 'edge') n
          where not n.created and n.before is not null and n.subject_id <> all (p_left) offset 0) n
    cross join lateral (select x as edge from loci_data.edges x where x.namespace_id = p_namespace_id
                        and x.id = n.id limit 1) x
    cross join lateral jsonb_populate_record(x.edge, n.fields) b
    where e.namespace_id = p_namespace_id and e.id = n.id
      and (b.strength, b.aspect_id, b.metadata) is distinct from (e.strength, e.aspect_id, e.metadata);
    get diagnostics v_count = row_count;
    return v_count;
end $$;
comment on function loci_internal.restore_edge_fields(integer, uuid, uuid[], timestamptz) is
    'Give edges that an operation changed their strength, aspect and metadata back; how many.';

-- Decisions of an operation on which edge ended which: those that it made are dismissed, since the evidence for them
-- goes, and those that it changed are what they were. Returns the edges of the latter, whose spells follow.
create or replace function loci_internal.undo_edge_supersessions(p_namespace_id integer, p_operation uuid,
                                                                 p_left uuid[]) returns uuid[]
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_ids uuid[];
begin
    with decided as (
        update loci_data.supersessions s
        set status = f.status, decided_at = clock_timestamp(), decided_by = loci.current_agent(),
            undone_at = case f.status when 'undone' then clock_timestamp() end
        from (select n.subject_id as id, case when n.created then 'dismissed' else n.before ->> 'status' end as status
              from loci_internal.net_changes(p_namespace_id, p_operation, 'supersession') n
              where n.subject_id <> all (p_left) and n.after is not null offset 0) f
        where s.namespace_id = p_namespace_id and s.id = f.id and s.ended_at is not null and s.status <> f.status
        returning s.older_edge_id
    )
    select coalesce(array_agg(loci_internal.current_edge_id(p_namespace_id, d.older_edge_id)), '{}') into v_ids
    from decided d;
    return array_remove(v_ids, null);
end $$;
comment on function loci_internal.undo_edge_supersessions(integer, uuid, uuid[]) is
    'Make an operation''s decisions on which edge ended which what they were before it; the edges.';

-- Before the edges of an operation are undone: lock the entities at their ends, and those that stand in their place by
-- now, in order of canonical_name like every writer of the graph.
create or replace function loci_internal.lock_edge_ends(p_namespace_id integer, p_operation uuid, p_ids uuid[])
returns void
language sql volatile set search_path = '' set enable_seqscan = off
as $$
    with edge as materialized (
        select e.source_id, e.target_id
        from (select u.id from unnest(p_ids) u(id)
              union select o.edge_id from loci_data.edge_observations o where o.namespace_id = p_namespace_id
                  and o.operation_id = p_operation) i
        cross join lateral (select x.source_id, x.target_id from loci_data.edges x
                            where x.namespace_id = p_namespace_id and x.id = i.id limit 1) e
    ), ends as materialized (
        select loci_internal.surviving_entity_id(p_namespace_id, n.id) as id
        from (select g.source_id as id from edge g union select g.target_id from edge g) n where n.id is not null
    )
    select from loci_data.entities e
    where e.namespace_id = p_namespace_id and e.id = any (array(select n.id from ends n)) order by e.canonical_name,
        e.id for no key update
$$;
comment on function loci_internal.lock_edge_ends(integer, uuid, uuid[]) is
    'Lock the entities at the ends of an operation''s edges.';

-- Edges as undoing an operation leaves them, for record_edges: rows {id, source_id, target_id, base, evidence,
-- replaces}. Its own observations go. An edge that it took back (p_lost) comes back from what it was; one that it
-- observed, or recorded in place of another (p_made, with p_present: what it is now), is recorded anew with the
-- evidence that others gave, if there is any. An observation is known by its origin. Index edge_observations_operation.
create or replace function loci_internal.undo_evidence(p_namespace_id integer, p_operation uuid, p_made uuid[],
                                                       p_present uuid[], p_lost uuid[])
returns table (id uuid, source_id uuid, target_id uuid, base uuid[], evidence uuid[], replaces uuid)
language sql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
    with shown as materialized (
        select distinct o.edge_id as id from loci_data.edge_observations o
        cross join lateral (select from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = o.edge_id
                            and e.superseded_at is null limit 1) e
        where o.namespace_id = p_namespace_id and o.operation_id = p_operation
    ), given as materialized (  -- what was copied to an edge when it was recorded goes with it
        select m.present, o.origin_id as origin
        from unnest(p_made, p_present) m(id, present)
        cross join lateral (select v.origin_id from loci_data.edge_observations v
                            where v.namespace_id = p_namespace_id and v.edge_id = m.id
                              and v.origin_id is not null offset 0) o
        where m.present is not null
    ), kept as (
        select o.*
        from (select s.id from shown s union select u.id from unnest(p_present) u(id) where u.id is not null) s
        cross join lateral loci_internal.evidence_of_others(p_namespace_id, s.id, p_operation) o
        where s.id in (select h.id from shown h)
           or (s.id, o.origin) not in (select g.present, g.origin from given g)
    ), back as (
        select o.* from unnest(p_lost) l(id)
        cross join lateral loci_internal.evidence_of_others(p_namespace_id, l.id, p_operation) o
    ), stands as (  -- edges that stand after it: those that come back, and those that keep evidence
        select u.id, true as lost from unnest(p_lost) u(id) union select k.edge_id, false from kept k
    ), placed as (
        select s.id, s.lost, e.type, e.literal,
               loci_internal.surviving_entity_id(p_namespace_id, e.source_id) as source_id,
               loci_internal.surviving_entity_id(p_namespace_id, e.target_id) as target_id, e.target_id is null
                   or e.target_id = e.source_id as plain
        from stands s
        cross join lateral (select x.* from loci_data.edges x where x.namespace_id = p_namespace_id
                            and x.id = s.id limit 1) e
    )
    select loci_api.uuid7(), t.source_id, t.target_id, t.base, v.ids, t.replaces
    from (select p.source_id, p.type, p.target_id, p.literal, array_agg(p.id) as all_ids,
                 (array_agg(p.id) filter (where not p.lost))[1] as replaces,
                 array[(array_agg(p.id order by p.lost desc, p.id))[1]] as base
          from placed p where p.source_id is not null and (p.plain or p.target_id <> p.source_id)
          group by p.source_id, p.type, p.target_id, p.literal) t
    left join lateral (
        select array_agg(d.id order by d.recorded_at, d.id) as ids
        from (select distinct on (x.origin) x.id, x.recorded_at
              from (select * from back union all select * from kept) x where x.edge_id = any (t.all_ids)
              order by x.origin, x.id) d) v on true
    order by t.base
$$;
comment on function loci_internal.undo_evidence(integer, uuid, uuid[], uuid[], uuid[]) is
    'Edges to record anew when an operation is undone.';

-- The evidence for an edge that other operations gave, each with its origin. Inlines; index edge_observations_edge.
create or replace function loci_internal.evidence_of_others(p_namespace_id integer, p_edge_id uuid, p_operation uuid)
returns table (edge_id uuid, id uuid, origin uuid, recorded_at timestamptz)
language sql stable parallel safe
as $$
    select v.edge_id, v.id, coalesce(v.origin_id, v.id), v.recorded_at from loci_data.edge_observations v
    where v.namespace_id = p_namespace_id and v.edge_id = p_edge_id and v.operation_id is distinct from p_operation
    offset 0
$$;
comment on function loci_internal.evidence_of_others(integer, uuid, uuid) is
    'Evidence for an edge that other operations gave.';
