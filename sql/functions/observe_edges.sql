-- Write edges by the names of their ends (row G2): a name is resolved (id, name, alias) or becomes an entity, which counts as an
-- observation of it, dated like the edge. One transaction. See save_entities and save_edges.
-- Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002 (namespace, entity id), 22023, 23514.
create or replace function loci.observe_edges(p_namespace text, p_edges jsonb)
returns table (ordinal integer, id uuid, source_id uuid, target_id uuid, created boolean, restored boolean)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci.authorize(p_namespace, 'writer');
    v_at           timestamptz := clock_timestamp();
    v_known        uuid[];  -- entities that are referred to by id
    v_ends         jsonb;  -- {name, type, seen_at} of each end, in order, without repetition; ids apart
    v_ids          jsonb;  -- reference as written → id
    v_edges        jsonb;
    v_unknown      text;
begin
    if jsonb_typeof(p_edges) is distinct from 'array' then
        raise invalid_parameter_value using message = 'edges must be a JSON array', column = 'edges';
    end if;
    v_known := array(  -- all at once: a look-up an end is a scan of the namespace while there are no statistics of it
        select i.id from loci_data.entities i
        where i.namespace_id = v_namespace_id and i.id = any(array(
            select distinct r.ref::uuid
            from jsonb_array_elements(p_edges) e(item) cross join lateral (values (e.item ->> 'source'), (e.item ->> 'target')) r(ref)
            where r.ref ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')));
    select jsonb_agg(jsonb_build_object('name', e.item -> n.field, 'type', e.item -> (n.field || '_type'), 'id', k.id,
                                        'seen_at', (select min(t) from unnest(array[e.item ->> 'observed_at', e.item ->> 'valid_from']::timestamptz[]) t
                                                    where isfinite(t)))
                     order by e.place, n.field) into v_ends
    from jsonb_array_elements(p_edges) with ordinality e(item, place)
    cross join (values ('source'), ('target')) n(field)
    left join unnest(v_known) k(id) on k.id::text = lower(e.item ->> n.field)
    where e.item ->> n.field is not null;

    select e ->> 'name' into v_unknown from jsonb_array_elements(v_ends) e
    where e ->> 'id' is null and e ->> 'name' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' limit 1;
    if found then
        raise no_data_found using message = format('entity %s does not exist', v_unknown), column = 'edges';
    end if;

    perform loci.see_entities(v_namespace_id, array_agg((e.item ->> 'id')::uuid), array_agg((e.item ->> 'seen_at')::timestamptz), v_at)
    from jsonb_array_elements(v_ends) e(item) where e.item ->> 'id' is not null having count(e.item ->> 'seen_at') > 0;
    select jsonb_object_agg(e.item ->> 'name', e.item -> 'id') filter (where e.item ->> 'id' is not null) into v_ids
    from jsonb_array_elements(v_ends) e(item);
    select jsonb_agg(e.item - 'id' order by e.place) into v_ends
    from jsonb_array_elements(v_ends) with ordinality e(item, place) where e.item ->> 'id' is null;
    select coalesce(v_ids, '{}') || coalesce(jsonb_object_agg(v_ends -> (s.ordinal - 1) ->> 'name', s.id), '{}') into v_ids
    from loci.save_entities(v_namespace_id, coalesce(v_ends, '[]'), v_at) s;

    select jsonb_agg(e.item - 'source' - 'target' || jsonb_build_object('source_id', v_ids -> (e.item ->> 'source'),
                         'target_id', v_ids -> (e.item ->> 'target')) order by e.place) into v_edges
    from jsonb_array_elements(p_edges) with ordinality e(item, place);
    return query
    select s.ordinal, s.id, (v_edges -> (s.ordinal - 1) ->> 'source_id')::uuid, (v_edges -> (s.ordinal - 1) ->> 'target_id')::uuid,
           s.created, s.restored
    from loci.save_edges(v_namespace_id, coalesce(v_edges, '[]'), v_at) s;
end $$;
comment on function loci.observe_edges(text, jsonb) is 'Write edges by name: JSON array of {source, type, target | literal, source_type?, target_type?, confidence?, strength?, session_id?, memory_id?, observed_at?, valid_from?, valid_to?, metadata?}; one row an item, ordinal from 1.';
