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
