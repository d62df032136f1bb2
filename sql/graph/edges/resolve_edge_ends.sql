-- Which entities do the ends of edges mean? An id that exists, a name or an alias (one that was merged means what it
-- went into); other names become entities. A stated type upgrades a vaguer one (save_entities' rules). Nothing is
-- counted here. The items again, with source_id and target_id. One look-up a distinct name. Errors: P0002 (id), 22023.
create or replace function loci_internal.resolve_edge_ends(p_namespace_id integer, p_items loci_internal.edge_input[],
                                                           p_at timestamptz) returns loci_internal.edge_input[]
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan
-- where there is a choice: the size of a batch is unknown to the planner
set enable_nestloop = off set enable_seqscan = off
as $$
declare
    v_names  text[];  -- as written, each once
    v_ids    uuid[];
    v_stated jsonb;  -- entities to be made or upgraded
    v_id     text;
begin
    with ref as materialized (
        select distinct r.name, loci.canonical_name(r.name) as canonical_name,
                        r.name ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' as is_id
        from unnest(p_items) i cross join lateral (values (i.source), (i.target)) r(name) where r.name is not null
    ), named as (
        select k.* from loci_internal.resolve_names(p_namespace_id,
                                                    (select array_agg(r.canonical_name) from ref r where not r.is_id)) k
    ), numbered as (
        select e.id, case when e.merged_into is null then e.id
            else loci_internal.surviving_entity_id(p_namespace_id, e.id) end as kept from loci_data.entities e
        where e.namespace_id = p_namespace_id and e.id = any(array(select r.name::uuid from ref r where r.is_id))
    ), known as (
        select r.name, coalesce(u.kept, n.id) as id
        from ref r
        left join numbered u on u.id::text = lower(r.name) and r.is_id
        left join named n on n.canonical_name = r.canonical_name and not r.is_id
    )
    select array_agg(k.name order by k.name), array_agg(k.id order by k.name) into v_names, v_ids from known k;

    if array_position(v_ids, null) is not null then
        select k.name into v_id from unnest(v_names, v_ids) k(name, id)
        where k.id is null and k.name ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' order by k.name limit 1;
        if found then
            raise no_data_found using message = format('entity %s does not exist', v_id), column = (
                select format('edges[%s].%s', i.ordinal - 1, r.field) from unnest(p_items) i
                cross join lateral (values ('source', i.source), ('target', i.target)) r(field, name)
                where r.name = v_id order by i.ordinal, r.field limit 1);
        end if;
    end if;
    if array_position(v_ids, null) is not null
       or exists (select from unnest(p_items) i where num_nonnulls(i.source_type, i.target_type) > 0) then
        select jsonb_agg(jsonb_build_object('name', s.name, 'type', s.type, 'seen_at', s.seen_at) order by s.ordinal,
                         s.place) into v_stated
        from (select i.ordinal, r.place, r.name, r.type, i.seen_at from unnest(p_items) i
              cross join lateral (values (1, i.source, i.source_type), (2, i.target, i.target_type)) r(place, name,
                  type)
              where r.name is not null) s
        join unnest(v_names, v_ids) k(name, id) on k.name = s.name
        where k.id is null or s.type is not null and s.name !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
        select array_agg(k.name), array_agg(coalesce(d.id, k.id)) into v_names, v_ids
        from unnest(v_names, v_ids) k(name, id)
        left join (select v_stated -> (s.ordinal - 1) ->> 'name' as name, min(s.id::text)::uuid as id
                   from loci_internal.describe_entities(p_namespace_id, coalesce(v_stated, '[]'), p_at) s group by 1) d
                       on d.name = k.name;
    end if;

    return (select array_agg((i.ordinal, i.source, i.source_type, i.type, i.target, i.target_type, i.literal, i.aspect,
                              i.confidence, i.strength,
                              i.session_id, i.memory_id, i.observed_at, i.valid_from, i.valid_to, i.metadata, i.seen_at,
                              s.id, t.id, null, i.id)::loci_internal.edge_input order by i.ordinal)
            from unnest(p_items) i
            join unnest(v_names, v_ids) s(name, id) on s.name = i.source
            left join unnest(v_names, v_ids) t(name, id) on t.name = i.target);
end $$;
comment on function loci_internal.resolve_edge_ends(integer, loci_internal.edge_input[], timestamptz) is
    'Edges with the ids of their ends, made where they were not known. Errors: P0002, 22023.';
