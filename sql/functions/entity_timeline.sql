-- What happened around this entity, in order of valid time? Dated events: the entity created (at first_seen_at), changed, merged, given back (parted), split, deleted, returned; each
-- observation of an edge at it, the end of an edge's validity, and edges taken back, with the names of both ends; each version of
-- a memory that mentions it. detail says what each was. Everything that was ever recorded is there, superseded or not.
-- cursor, on every row, is what to send for the page that starts after it. Cost: reads and sorts all events of the entity once a
-- page (edges_source, edges_target, edge_observations_edge, memory_mentions_entity).
-- Security definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit, cursor).
create or replace function loci.entity_timeline(p_namespace text, p_ref text, p_limit integer default 100, p_cursor text default null)
returns table (at timestamptz, recorded_at timestamptz, kind text, event text, id uuid, detail jsonb, cursor text)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_namespace_id integer := loci.authorize(p_namespace, 'reader');
    v_id           uuid := coalesce(loci.entity_id(v_namespace_id, p_ref), loci.removed_entity(v_namespace_id, p_ref));
    v_key          text[];
    v_after        record;
begin
    if v_id is null then
        raise no_data_found using message = format('entity %L does not exist', p_ref), column = 'ref';
    end if;
    perform loci.check_page(p_limit);
    v_key := loci.read_cursor(p_cursor, 'timestamptz', 'timestamptz', 'text');
    select v_key[1]::timestamptz as at, v_key[2]::timestamptz as recorded_at, v_key[3] as key into v_after;
    return query
    with happened as (
        select h.*, concat_ws(' ', h.kind, h.event, h.key) as place from loci.entity_events(v_namespace_id, v_id) h
        union all
        select h.*, concat_ws(' ', h.kind, h.event, h.key) from loci.merge_events(v_namespace_id, v_id) h
        union all
        select h.*, concat_ws(' ', h.kind, h.event, h.key) from loci.edge_events(v_namespace_id, v_id) h
        union all
        select m.valid_from, m.recorded_at, 'memory', 'version', m.id, m.id::text,
               jsonb_build_object('lineage', m.lineage, 'version', m.version, 'content', m.content, 'valid_to', m.valid_to,
                                  'superseded_at', m.superseded_at, 'status', m.status), 'memory version ' || m.id
        from loci_data.memory_mentions n
        join loci_data.memories m on m.namespace_id = v_namespace_id and m.id = n.memory_id
        where n.namespace_id = v_namespace_id and n.entity_id = v_id
    )
    select h.at, h.recorded_at, h.kind, h.event, h.id, h.detail, loci.make_cursor(jsonb_build_array(h.at, h.recorded_at, h.place))
    from happened h
    where p_cursor is null or (h.at, h.recorded_at, h.place) > (v_after.at, v_after.recorded_at, v_after.key)
    order by h.at, h.recorded_at, h.place
    limit p_limit;
end $$;
comment on function loci.entity_timeline(text, text, integer, text) is 'Dated events around an entity (kind: entity, edge, memory), in order of valid time; cursor pages. Errors: 42501, P0002, 22023.';
