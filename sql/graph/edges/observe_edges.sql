-- Observations of edges: ends are resolved, evidence is recorded.

-- Insert edges that say the same as others (base), with their strongest figures and all their metadata: see
-- record_edges. Locks the rates of decay.
create or replace function loci_internal.insert_joined_edges(p_namespace_id integer, p_edges jsonb, p_at timestamptz)
returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_rates record := loci_internal.lock_decay_rates(p_namespace_id);
begin
    insert into loci_data.edges (namespace_id, id, source_id, type, target_id, literal, confidence, initial_confidence,
                                 strength, aspect_id, observations, first_observed_at, last_observed_at, restored_at,
                                 fades_at, valid_from, valid_to, recorded_at, metadata, updated_at)
    select p_namespace_id, p.id, p.source_id, b.type, p.target_id, b.literal, b.confidence, b.initial_confidence,
           b.strength, k.id, b.observations, b.first_at, b.last_at, b.restored_at,
           loci.fades_at(b.confidence, coalesce((v_rates.rates ->> b.type)::double precision, v_rates.rate),
                         b.restored_at, v_rates.threshold),
           b.valid_from, b.valid_to, p_at, b.metadata, p_at
    from jsonb_to_recordset(p_edges) p(id uuid, source_id uuid, target_id uuid, base uuid[])
    cross join lateral (
        select (array_agg(e.type))[1] as type, (array_agg(e.literal))[1] as literal, max(e.confidence) as confidence,
               max(e.initial_confidence) as initial_confidence, max(e.strength) as strength,
               sum(e.observations)::integer as observations, min(e.first_observed_at) as first_at,
               max(e.last_observed_at) as last_at, max(e.restored_at) as restored_at,
               min(e.valid_from) as valid_from,
               case when bool_and(e.valid_to is not null) then max(e.valid_to) end as valid_to,
               (array_agg(e.aspect_id order by o.place) filter (where e.aspect_id is not null))[1] as aspect_id,
               coalesce((select jsonb_object_agg(m.key, m.value order by s.place desc)
                         from unnest(p.base) with ordinality s(id, place)
                         cross join lateral (select i.* from loci_data.edges i where i.namespace_id = p_namespace_id
                                             and i.id = s.id limit 1) g
                         cross join lateral jsonb_each(g.metadata) m), '{}') as metadata
        from unnest(p.base) with ordinality o(id, place)
        cross join lateral (select i.* from loci_data.edges i where i.namespace_id = p_namespace_id
                            and i.id = o.id limit 1) e) b
    left join lateral (select k.id from loci_data.aspects a
                       join loci_data.aspects k on k.namespace_id = p_namespace_id and k.entity_id = p.source_id
                            and k.canonical_name = a.canonical_name
                       where a.namespace_id = p_namespace_id and a.id = b.aspect_id limit 1) k on true
    where b.type is not null
    order by p.id;
end $$;
comment on function loci_internal.insert_joined_edges(integer, jsonb, timestamptz) is
    'Insert edges with what the edges that they stand for say.';

-- Record edges anew that others stand for so far: with other ends, or with a part of the evidence. p_edges: JSON array
-- of {id, source_id, target_id, base, evidence}. base: edges that it says the same as, the first one's word first:
-- strength is the highest of theirs, metadata unite. evidence: ids of observations, copied; of two by one memory the
-- first. Confidence, counts and spells follow from the evidence, of rivals too (refold_edges), unless there is none.
-- The aspect is the one of the new source with the same name. p_gone: edges that were closed for it, whose rivals are
-- looked at too. The caller holds the locks. Set-based.
create or replace function loci_internal.record_edges(p_namespace_id integer, p_edges jsonb, p_gone uuid[],
                                                      p_at timestamptz) returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = force_custom_plan set enable_seqscan = off
as $$
begin
    perform loci_internal.insert_joined_edges(p_namespace_id, p_edges, p_at);
    insert into loci_data.edge_observations (namespace_id, id, edge_id, memory_id, session_id, observed_at, valid_from,
                                             valid_to, confidence, reinforcement, recorded_at, origin_id, operation_id,
                                             carried_by, withdrawn, corrects, keeps_end, by_day)
    select p_namespace_id, loci_api.uuid7(), c.edge_id_now, c.memory_id, c.session_id, c.observed_at, c.valid_from,
           c.valid_to, c.confidence, c.reinforcement, c.recorded_at, coalesce(c.origin_id, c.id), c.operation_id,
           c.carried_by, c.withdrawn, c.corrects, c.keeps_end, c.by_day
    from (select o.*, p.id as edge_id_now, row_number() over (partition by p.id, coalesce(o.memory_id, o.id)
                                                          order by x.place) as nth
          from jsonb_to_recordset(p_edges) p(id uuid, evidence uuid[])
          cross join lateral unnest(p.evidence) with ordinality x(id, place)
          cross join lateral (select i.* from loci_data.edge_observations i where i.namespace_id = p_namespace_id
                              and i.id = x.id limit 1) o) c
    where c.nth = 1 order by c.edge_id_now, c.recorded_at, c.id;

    perform loci_internal.refold_edges(p_namespace_id, p_gone || array(
        select (p ->> 'id')::uuid from jsonb_array_elements(p_edges) p), p_at);
end $$;
comment on function loci_internal.record_edges(integer, jsonb, uuid[], timestamptz) is
    'Record edges anew from others, with copies of their evidence.';

-- Write edges by the names of their ends: a name is resolved (id, name, alias) or becomes an entity. An edge is
-- evidence of its ends too: session_id and memory_id say in which conversation. superseded: edges that it ended. One
-- transaction. See write_edges.
-- Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002 (namespace, entity id),
-- 22023, 23503 (memory), 23514, 40001.
create or replace function loci_api.observe_edges(p_namespace text, p_edges jsonb)
returns table (ordinal integer, id uuid, source_id uuid, target_id uuid, created boolean, restored boolean,
               superseded jsonb)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_at           timestamptz := clock_timestamp();
begin
    return query select w.* from loci_internal.write_edges(v_namespace_id, loci_internal.parse_edges(p_edges, v_at),
                                                           v_at) w;
end $$;
comment on function loci_api.observe_edges(text, jsonb) is
    'Write edges by name: JSON array of {source, type, target | literal, source_type?, target_type?, aspect?, '
    'confidence?, strength?, session_id?, memory_id?, observed_at?, valid_from?, valid_to?, metadata?}; one row an '
    'item, ordinal from 1.';

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
    v_names text[];  -- as written, each once
    v_ids   uuid[];
begin
    select e.names, e.ids into v_names, v_ids from loci_internal.find_edge_ends(p_namespace_id, p_items) e;
    if array_position(v_ids, null) is not null then
        perform loci_internal.refuse_unknown_ids(p_items, v_names, v_ids);
    end if;
    if array_position(v_ids, null) is not null
       or exists (select from unnest(p_items) i where num_nonnulls(i.source_type, i.target_type) > 0) then
        v_ids := loci_internal.describe_edge_ends(p_namespace_id, p_items, v_names, v_ids, p_at);
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

-- Which entities have these names or ids now? names: ends as written, each once; ids: null where there is none.
create or replace function loci_internal.find_edge_ends(p_namespace_id integer, p_items loci_internal.edge_input[],
                                                        out names text[], out ids uuid[])
language plpgsql stable
as $$
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
    select array_agg(k.name order by k.name), array_agg(k.id order by k.name) into names, ids from known k;
end $$;
comment on function loci_internal.find_edge_ends(integer, loci_internal.edge_input[]) is
    'Entities that the ends of edges name.';

-- Refuse ends that are ids of no entity: only a name becomes one. Errors: P0002.
create or replace function loci_internal.refuse_unknown_ids(p_items loci_internal.edge_input[], p_names text[],
                                                            p_ids uuid[]) returns void
language plpgsql stable
as $$
declare
    v_id text;
begin
    select k.name into v_id from unnest(p_names, p_ids) k(name, id)
    where k.id is null and k.name ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' order by k.name limit 1;
    if found then
        raise no_data_found using message = format('entity %s does not exist', v_id), column = (
            select format('edges[%s].%s', i.ordinal - 1, r.field) from unnest(p_items) i
            cross join lateral (values ('source', i.source), ('target', i.target)) r(field, name)
            where r.name = v_id order by i.ordinal, r.field limit 1);
    end if;
end $$;
comment on function loci_internal.refuse_unknown_ids(loci_internal.edge_input[], text[], uuid[]) is
    'Refuse ends of edges that are ids of no entity. Errors: P0002.';

-- Ends of edges that are not known yet become entities, and a stated type upgrades a vaguer one (describe_entities).
-- Returns the ids of p_names, in order.
create or replace function loci_internal.describe_edge_ends(
    p_namespace_id integer, p_items loci_internal.edge_input[], p_names text[], p_ids uuid[], p_at timestamptz)
returns uuid[]
language plpgsql volatile
as $$
declare
    v_stated jsonb;  -- entities to be made or upgraded
begin
    select jsonb_agg(jsonb_build_object('name', s.name, 'type', s.type, 'seen_at', s.seen_at)
                     order by s.ordinal, s.place) into v_stated
    from (select i.ordinal, r.place, r.name, r.type, i.seen_at from unnest(p_items) i
          cross join lateral (values (1, i.source, i.source_type), (2, i.target, i.target_type)) r(place, name, type)
          where r.name is not null) s
    join unnest(p_names, p_ids) k(name, id) on k.name = s.name
    where k.id is null or s.type is not null and s.name !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
    return array(
        select coalesce(d.id, k.id) from unnest(p_names, p_ids) with ordinality k(name, id, place)
        left join (select v_stated -> (s.ordinal - 1) ->> 'name' as name, min(s.id::text)::uuid as id
                   from loci_internal.describe_entities(p_namespace_id, coalesce(v_stated, '[]'), p_at) s group by 1) d
             on d.name = k.name
        order by k.place);
end $$;
comment on function loci_internal.describe_edge_ends(
    integer, loci_internal.edge_input[], text[], uuid[], timestamptz) is
    'Make entities of the ends of edges that are not known, and upgrade types; ids of all ends.';
