-- Timeline of an entity.

-- What happened around this entity, in order of valid time? Dated events: the entity created (at first_seen_at),
-- changed, merged, given back (parted), split, deleted, returned; each observation of an edge at it, the end of an
-- edge's validity, and edges taken back, with the names of both ends; each fact and constraint stated, ended and
-- deleted; each version of a memory that mentions it, but
-- for forgotten ones. detail says what each was. Everything that was ever recorded is there, superseded or not. cursor,
-- on every row, is what to send for the page that starts after it. p_as_of: what had happened by then. p_known_at: what
-- had been recorded by then, under the name of then, and of memories what was believed of them. Cost: reads and sorts
-- all events of the entity once a page (edges_source, edges_target, edge_observations_edge, memory_mentions_entity).
-- Security definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit, cursor).
create or replace function loci.entity_timeline(p_namespace text, p_ref text, p_limit integer default 100,
                                                p_cursor text default null, p_as_of timestamptz default null,
                                                p_known_at timestamptz default null)
returns table (at timestamptz, recorded_at timestamptz, kind text, event text, id uuid, detail jsonb, cursor text)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_id           uuid := loci_internal.timeline_entity(v_namespace_id, p_ref, p_known_at);
    v_key          text[];
    v_after        record;
begin
    perform loci_internal.check_page(p_limit);
    v_key := loci_internal.read_cursor(p_cursor, 'timestamptz', 'timestamptz', 'text');
    select v_key[1]::timestamptz as at, v_key[2]::timestamptz as recorded_at, v_key[3] as key into v_after;
    return query
    select h.at, h.recorded_at, h.kind, h.event, h.id, h.detail,
           loci_internal.make_cursor(jsonb_build_array(h.at, h.recorded_at, h.place))
    from loci_internal.timeline_events(v_namespace_id, v_id, p_known_at) h
    where (p_cursor is null or (h.at, h.recorded_at, h.place) > (v_after.at, v_after.recorded_at, v_after.key))
      and (p_as_of is null or h.at <= p_as_of) and (p_known_at is null or h.recorded_at <= p_known_at)
    order by h.at, h.recorded_at, h.place
    limit p_limit;
end $$;
comment on function loci.entity_timeline(text, text, integer, text, timestamptz, timestamptz) is
    'Dated events around an entity (kind: entity, edge, fact, memory), in order of valid time, at two times; cursor '
    'pages. Errors: 42501, P0002, 22023.';

-- When was an entity created, what changed about it when, and when was it deleted or brought back? A change is the
-- difference between a belief and the next one; its detail holds the new values of the fields that changed. Primary
-- keys of entities and entity_beliefs.
create or replace function loci_internal.entity_events(p_namespace_id integer, p_id uuid)
returns table (at timestamptz, recorded_at timestamptz, kind text, event text, id uuid, key text, detail jsonb)
language sql stable parallel safe
as $$
    with said as (  -- what was believed, oldest first; the present is last
        select b.believed_at as since,
               jsonb_build_object('name', b.name, 'type', b.type, 'aliases', b.aliases, 'description', b.description,
               'metadata', b.metadata, 'pinned_at', b.pinned_at, 'first_seen_at', b.first_seen_at) as fields,
               coalesce(b.merged_into = b.entity_id, false) as removed
        from loci_data.entity_beliefs b where b.namespace_id = p_namespace_id and b.entity_id = p_id
        union all
        select coalesce((select max(b.believed_to) from loci_data.entity_beliefs b
                         where b.namespace_id = p_namespace_id and b.entity_id = p_id),
                        e.created_at),
               jsonb_build_object('name', e.name, 'type', e.type, 'aliases', e.aliases, 'description', e.description,
               'metadata', e.metadata, 'pinned_at', e.pinned_at, 'first_seen_at', e.first_seen_at),
               coalesce(e.merged_into = e.id, false)
        from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = p_id
    ), ordered as (
        select s.since, s.fields, s.removed, lag(s.fields) over said_in_order as before,
               lag(s.removed) over said_in_order as was_removed
        from said s window said_in_order as (order by s.since)
    )
    select case when o.before is null then e.first_seen_at else o.since end, o.since, 'entity',
           case when o.before is null then 'created' when o.removed and not o.was_removed then 'deleted'
                when o.was_removed and not o.removed then 'returned' else 'changed' end, p_id, o.since::text,
           case when o.before is null then o.fields - 'first_seen_at'
                else (select jsonb_object_agg(f.key, f.value) from jsonb_each(o.fields) f where f.value
                      is distinct from o.before -> f.key) end
    from ordered o join loci_data.entities e on e.namespace_id = p_namespace_id and e.id = p_id
    where (o.fields, o.removed) is distinct from (o.before, o.was_removed)  -- out of sight is no change
$$;
comment on function loci_internal.entity_events(integer, uuid) is
    'Creation, changes, removal and return of an entity as dated events.';

-- Which removed entity does an id or a name mean? The id of one, or of one that was merged into it; else the one that
-- was removed last of those that had this name. Null: none. Primary key look-ups, or a range of entity_beliefs_name.
create or replace function loci_internal.find_removed_entity(p_namespace_id integer, p_ref text) returns uuid
language sql stable set search_path = ''
as $$
    with recursive way as (
        select e.id, e.merged_into from loci_data.entities e where e.namespace_id = p_namespace_id
        and e.id = case when p_ref ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then p_ref::uuid end
        union
        select e.id, e.merged_into from way w join loci_data.entities e on e.namespace_id = p_namespace_id
            and e.id = w.merged_into
    )
    select coalesce(
        (select w.id from way w where w.merged_into = w.id),
        (select e.id from loci_data.entity_beliefs b
         cross join lateral (select o.id, o.merged_at from loci_data.entities o
                             where o.namespace_id = p_namespace_id and o.id = b.entity_id and o.merged_into = o.id
                               and o.canonical_name = b.canonical_name limit 1) e
         where b.namespace_id = p_namespace_id and b.canonical_name = loci.canonical_name(p_ref)
         order by e.merged_at desc, e.id limit 1))
$$;
comment on function loci_internal.find_removed_entity(integer, text) is
    'Id of the removed entity with this id or name; null if there is none.';

-- Which entities were merged into this one, given back, or split off it, and when? Indexes entity_merges_kept and
-- entity_merges_merged.
create or replace function loci_internal.merge_events(p_namespace_id integer, p_id uuid)
returns table (at timestamptz, recorded_at timestamptz, kind text, event text, id uuid, key text, detail jsonb)
language sql stable parallel safe
as $$
    select w.at, w.at, 'entity', w.event, p_id, w.event || m.id,
           jsonb_build_object('merge_id', m.id, 'entity_id', o.id, 'name', o.name, 'reason', m.reason,
                              'automatic', m.automatic)
    from (select k.* from loci_data.entity_merges k where k.namespace_id = p_namespace_id and k.kept_id = p_id
          union all
          select g.* from loci_data.entity_merges g where g.namespace_id = p_namespace_id and g.merged_id = p_id) m
    join loci_data.entities o on o.namespace_id = p_namespace_id and o.id = case when m.kept_id = p_id then m.merged_id
        else m.kept_id end
    cross join lateral (
        select m.decided_at, case m.kind when 'split' then 'split' else 'merged' end
        union all select m.undone_at, 'parted' where m.undone_at is not null and m.kind = 'merge') w(at, event)
$$;
comment on function loci_internal.merge_events(integer, uuid) is
    'Merges and splits of an entity as dated events.';

-- What happened around this entity last? The newest events of entity_timeline that had happened by p_as_of and were
-- recorded by p_known_at, the latest first; its columns but the cursor, and its checks. Cost: as a page of that.
-- Security definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit).
create or replace function loci.latest_events(p_namespace text, p_ref text, p_limit integer default 10,
                                              p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (at timestamptz, recorded_at timestamptz, kind text, event text, id uuid, detail jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_id           uuid := loci_internal.timeline_entity(v_namespace_id, p_ref, p_known_at);
begin
    perform loci_internal.check_page(p_limit);
    return query
    select h.at, h.recorded_at, h.kind, h.event, h.id, h.detail
    from loci_internal.timeline_events(v_namespace_id, v_id, p_known_at) h
    where h.at <= coalesce(p_as_of, clock_timestamp()) and h.recorded_at <= coalesce(p_known_at, 'infinity')
    order by h.at desc, h.recorded_at desc, h.place desc
    limit p_limit;
end $$;
comment on function loci.latest_events(text, text, integer, timestamptz, timestamptz) is
    'The newest dated events around an entity, the latest first, at two times. Errors: 42501, P0002, 22023.';

-- Which entity does a reference mean whose events are asked for? One of that name or id now or then, also one that was
-- removed. Errors: P0002.
create or replace function loci_internal.timeline_entity(p_namespace_id integer, p_ref text, p_known_at timestamptz)
returns uuid
language plpgsql stable set search_path = ''
as $$
declare
    v_id uuid := coalesce(
        case when p_known_at is not null then loci_internal.entity_id_at(p_namespace_id, p_ref, p_known_at) end,
        loci_internal.find_entity_id(p_namespace_id, p_ref),
        loci_internal.find_removed_entity(p_namespace_id, p_ref));
begin
    if not exists (select from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = v_id
                   and (p_known_at is null or e.created_at <= p_known_at)) then
        raise no_data_found using message = format('entity %L does not exist', p_ref), column = 'ref';
    end if;
    return v_id;
end $$;
comment on function loci_internal.timeline_entity(integer, text, timestamptz) is
    'The entity that a timeline is asked of. Errors: P0002.';

-- All events around an entity, in no order; place tells apart what happened at one moment. Indexes: edges_source,
-- edges_target, edge_observations_edge, memory_mentions_entity.
create or replace function loci_internal.timeline_events(p_namespace_id integer, p_id uuid, p_known_at timestamptz)
returns table (at timestamptz, recorded_at timestamptz, kind text, event text, id uuid, key text, detail jsonb,
               place text)
language sql stable
as $$
    select h.*, concat_ws(' ', h.kind, h.event, h.key) as place
    from loci_internal.entity_events(p_namespace_id, p_id) h
    union all
    select h.*, concat_ws(' ', h.kind, h.event, h.key) from loci_internal.merge_events(p_namespace_id, p_id) h
    union all
    select h.*, concat_ws(' ', h.kind, h.event, h.key)
    from loci_internal.edge_events(p_namespace_id, p_id, p_known_at) h
    union all
    select h.*, concat_ws(' ', h.kind, h.event, h.key)
    from loci_internal.fact_events(p_namespace_id, p_id, p_known_at) h
    union all
    select b.valid_from, b.recorded_at, 'memory', 'version', m.id, m.id::text,
           jsonb_build_object('lineage', m.lineage, 'version', m.version, 'content', m.content,
                              'valid_to', b.valid_to,
                              'superseded_at', b.superseded_at, 'status', b.status), 'memory version ' || m.id
    from loci_data.memory_mentions n
    join loci_data.memories m on m.namespace_id = p_namespace_id and m.id = n.memory_id
    cross join lateral loci_internal.memory_as_believed(m, p_known_at) b
    where n.namespace_id = p_namespace_id and n.entity_id = p_id and b.status = 'active'
$$;
comment on function loci_internal.timeline_events(integer, uuid, timestamptz) is
    'Events around an entity.';
