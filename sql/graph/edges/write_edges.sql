-- Writes of edges, with aspects and supersession.

-- Write observed edges with all that belongs to them: both entities, what the observation does to them, mentions of the
-- memory that showed it, the aspect, the edge and its evidence. In the caller's transaction; nothing is counted twice
-- for one memory. An edge ends the one before it where the type has one target at a time: superseded says which, as
-- [{supersession_id, id, target_id, target, literal, valid_to}]. Set-based, for one or thousands. One row an item,
-- ordinal from 1, in order. Locks: memories and entities in order of id and canonical_name, then edges in order of id.
-- Errors: P0002 (entity id), 22023 (a forgotten memory, too), 23503 (memory), 23514, 40001.
create or replace function loci_internal.write_edges(p_namespace_id integer, p_items loci_internal.edge_input[],
                                                     p_at timestamptz)
returns table (ordinal integer, id uuid, source_id uuid, target_id uuid, created boolean, restored boolean,
               superseded jsonb)
language plpgsql volatile set search_path = ''
as $$
declare
    v_items    loci_internal.edge_input[];
    v_ids      uuid[];
    v_created  boolean[];
    v_restored integer[] := '{}';
    v_others   uuid[] := '{}';  -- edges to be folded from all their evidence
    v_single   text[];
    v_ended    uuid[] := '{}';  -- supersessions
    v_over     uuid[];          -- memories that have an end
begin
    if cardinality(p_items) = 0 then
        return;
    end if;
    v_over := loci_internal.lock_active_evidence(
        p_namespace_id, array(select i.memory_id from unnest(p_items) i order by i.ordinal), 'edges');
    v_items := loci_internal.resolve_edge_ends(p_namespace_id, p_items, p_at);
    perform loci_internal.observe_edge_ends(p_namespace_id, v_items, p_at);
    v_items := loci_internal.resolve_edge_aspects(p_namespace_id, v_items, p_at);
    v_single := loci_internal.lock_single_valued_sources(p_namespace_id, v_items);
    select array_agg(a.id order by a.ordinal), array_agg(a.created order by a.ordinal) into v_ids, v_created
    from loci_internal.insert_edges(p_namespace_id, v_items, p_at) a;
    if false = any (v_created) then
        select r.restored, r.others into v_restored, v_others
        from loci_internal.reinforce_edges(
            p_namespace_id, array(select i from unnest(v_items) i where not v_created[i.ordinal] order by i.ordinal),
            v_ids, v_single, p_at) r;
    end if;
    if v_single || v_over::text[] <> '{}' then  -- an edge lasts no longer than what says so
        v_others := v_others || array(select v_ids[i.ordinal] from unnest(v_items) i
                                      where i.type = any (v_single) or i.memory_id = any (v_over));
    end if;
    if v_others <> '{}' then
        v_ended := loci_internal.refold_edges(p_namespace_id, v_others, p_at);
        v_restored := v_restored || loci_internal.find_restoring_items(
            p_namespace_id, v_items, array(select o from unnest(v_others) o where o = any (v_ids)), v_created);
    end if;
    perform loci_internal.refuse_ends_before_edges(p_namespace_id, v_items, v_ids);
    return query
    select i.ordinal, v_ids[i.ordinal], i.source_id, i.target_id, v_created[i.ordinal], r.ordinal is not null,
           case when v_ended = '{}' then '[]' else
               loci_internal.edges_superseded_by(p_namespace_id, v_ended, v_ids[i.ordinal]) end
    from unnest(v_items) i left join unnest(v_restored) r(ordinal) on r.ordinal = i.ordinal
    order by i.ordinal;
end $$;
comment on function loci_internal.write_edges(integer, loci_internal.edge_input[], timestamptz) is
    'Write observed edges with their entities, mentions, aspects and evidence.';

-- Edges are evidence of their ends: observe these, in the conversation or by the memory that each item names.
create or replace function loci_internal.observe_edge_ends(p_namespace_id integer, p_items loci_internal.edge_input[],
                                                           p_at timestamptz) returns void
language plpgsql volatile
as $$
begin
    perform loci_internal.observe_entities(p_namespace_id, array_agg(
        (e.id, i.memory_id, i.session_id, null, i.seen_at, e.name)::loci_internal.sighting), p_at)
    from unnest(p_items) i cross join lateral (values (i.source_id, i.source), (i.target_id, i.target)) e(id, name)
    where e.id is not null;
end $$;
comment on function loci_internal.observe_edge_ends(integer, loci_internal.edge_input[], timestamptz) is
    'Count the observations of entities that edges are evidence of.';

-- Which items restored one of these edges, which were folded from all their evidence? Those that are its first word in
-- a conversation, but for the one that made it (p_created, by ordinal). The evidence of an edge is read once, however
-- many items observe it.
create or replace function loci_internal.find_restoring_items(
    p_namespace_id integer, p_items loci_internal.edge_input[], p_edge_ids uuid[], p_created boolean[])
returns integer[]
language plpgsql stable
as $$
begin
    return array(
        select i.ordinal from (select distinct u.id from unnest(p_edge_ids) u(id)) g
        cross join lateral loci_internal.edge_evidence(p_namespace_id, g.id, 'infinity', 'infinity') v
        join unnest(p_items) i on i.id = v.id
        where v.fresh and v.nth > 1 and not p_created[i.ordinal]);
end $$;
comment on function loci_internal.find_restoring_items(integer, loci_internal.edge_input[], uuid[], boolean[]) is
    'Ordinals of the items that restored edges which were folded from all their evidence.';

-- Which edges did an edge end, by these supersessions? [{supersession_id, id, target_id, target, literal, valid_to}].
-- Primary keys.
create or replace function loci_internal.edges_superseded_by(p_namespace_id integer, p_supersession_ids uuid[],
                                                             p_edge_id uuid) returns jsonb
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select coalesce(jsonb_agg(jsonb_build_object('supersession_id', s.id, 'id', e.id, 'target_id', e.target_id,
                                                 'target', t.name, 'literal', e.literal, 'valid_to', s.ended_at)
                              order by s.id), '[]')
    from loci_data.supersessions s
    join loci_data.edges e on e.namespace_id = p_namespace_id and e.id = s.older_edge_id
    left join loci_data.entities t on t.namespace_id = p_namespace_id and t.id = e.target_id
    where s.namespace_id = p_namespace_id and s.id = any (p_supersession_ids) and s.newer_edge_id = p_edge_id
$$;
comment on function loci_internal.edges_superseded_by(integer, uuid[], uuid) is
    'Edges that an edge ended, by supersessions.';

-- Before edges are written: which of their types have one target at a time? Locks the sources of these in order of
-- name, as every writer of entities, so that two who observe different targets of one source take turns. One look-up in
-- edge_types, where no type is single-valued.
create or replace function loci_internal.lock_single_valued_sources(p_namespace_id integer,
                                                                    p_items loci_internal.edge_input[])
                                                                        returns text[]
language plpgsql volatile set search_path = ''
as $$
declare
    v_types text[] := array(select t.type from loci_data.edge_types t where t.namespace_id = p_namespace_id
                            and t.single_valued);
begin
    if v_types <> '{}' then
        perform from loci_data.entities e
        where e.namespace_id = p_namespace_id
          and e.id = any (array(select i.source_id from unnest(p_items) i where i.type = any (v_types)))
        order by e.canonical_name for no key update;
    end if;
    return v_types;
end $$;
comment on function loci_internal.lock_single_valued_sources(integer, loci_internal.edge_input[]) is
    'Lock the sources of single-valued edges that are to be written; the types that are single-valued.';

-- Aspects that edges name: those of their sources, made where there is none by that name. The items again, with
-- aspect_id. An aspect that exists stays as it is. Index aspects_canonical_name_key.
create or replace function loci_internal.resolve_edge_aspects(p_namespace_id integer,
                                                              p_items loci_internal.edge_input[], p_at timestamptz)
                                                                  returns loci_internal.edge_input[]
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan
-- where there is a choice: the size of a batch is unknown to the planner
set enable_nestloop = off set enable_seqscan = off
as $$
begin
    if not exists (select from unnest(p_items) i where i.aspect is not null) then
        return p_items;
    end if;
    insert into loci_data.aspects (namespace_id, id, entity_id, name, canonical_name, created_at, updated_at)
    select p_namespace_id, loci_api.uuid7(), a.source_id, a.aspect, a.canonical_name, p_at, p_at
    from (select distinct on (i.source_id, n.canonical_name) i.source_id, n.canonical_name, i.aspect
          from unnest(p_items) i cross join lateral (select loci.canonical_name(i.aspect)) n(canonical_name)
          where i.aspect is not null order by i.source_id, n.canonical_name, i.ordinal) a
    on conflict (namespace_id, entity_id, canonical_name) do nothing;
    return (select array_agg((i.ordinal, i.source, i.source_type, i.type, i.target, i.target_type, i.literal, i.aspect,
                              i.confidence, i.strength,
                              i.session_id, i.memory_id, i.observed_at, i.valid_from, i.valid_to, i.metadata,
                              i.seen_at, i.source_id,
                              i.target_id, a.id, i.id)::loci_internal.edge_input order by i.ordinal)
            from unnest(p_items) i
            left join lateral (select a.id from loci_data.aspects a
                               where i.aspect is not null and a.namespace_id = p_namespace_id
                                 and a.entity_id = i.source_id
                                 and a.canonical_name = loci.canonical_name(i.aspect) offset 0) a on true);
end $$;
comment on function loci_internal.resolve_edge_aspects(integer, loci_internal.edge_input[], timestamptz) is
    'Edges with the ids of the aspects that they name, made where they were not known.';

-- The edges of a write, typed and checked, with the defaults of an observation: one element an item, ordinal from 1.
-- seen_at is what the item says of when it dates from; ids are in the order of the items. The JSON is read once, here;
-- everything after works on typed rows. Errors: 22023 naming the field and the value.
create or replace function loci_internal.parse_edges(p_edges jsonb, p_at timestamptz) returns loci_internal.edge_input[]
language plpgsql volatile set search_path = ''
as $$
declare
    v_items loci_internal.edge_input[];
begin
    if jsonb_typeof(p_edges) is distinct from 'array' then
        raise invalid_parameter_value using message = 'edges must be a JSON array', column = 'edges';
    end if;
    select array_agg((i.ordinal, btrim(i.source), i.source_type, loci.canonical_type(i.type), btrim(i.target),
                      i.target_type, i.literal, btrim(i.aspect), i.confidence, i.strength, i.session_id, i.memory_id,
                      coalesce(i.observed_at, p_at), i.valid_from, i.valid_to, nullif(i.metadata, 'null'),
                      least(i.observed_at, i.valid_from), null, null, null, loci_api.uuid7())::loci_internal.edge_input
                     order by i.ordinal) into v_items
    from rows from (jsonb_to_recordset(p_edges) as (
             source text, source_type text, type text, target text, target_type text, literal text, aspect text,
             confidence double precision, strength double precision, session_id text, memory_id uuid,
             observed_at timestamptz, valid_from timestamptz, valid_to timestamptz, metadata jsonb))
         with ordinality as i(source, source_type, type, target, target_type, literal, aspect, confidence, strength,
                              session_id, memory_id, observed_at, valid_from, valid_to, metadata, ordinal);
    perform loci_internal.refuse_wrong_edges(p_edges, v_items);
    return coalesce(v_items, '{}');
end $$;
comment on function loci_internal.parse_edges(jsonb, timestamptz) is
    'JSON array of edges as typed rows; ordinal counts from 1. Errors: 22023.';

-- Refuse edges that are not as they must be: the first wrong field of the first of them. p_edges: the JSON that p_items
-- were read from, whose words are shown. Errors: 22023 naming the field and the value.
create or replace function loci_internal.refuse_wrong_edges(p_edges jsonb, p_items loci_internal.edge_input[])
returns void
language plpgsql stable
as $$
declare
    v_wrong record;
    v_value text;
begin
    select i.ordinal - 1 as place, w.field into v_wrong
    from unnest(p_items) i
    cross join lateral (select case
        when i.confidence < 0 or i.confidence > 1 then 'confidence'
        when length(i.literal) not between 1 and 1000 then 'literal'
        when jsonb_typeof(i.metadata) <> 'object' then 'metadata'
        when not isfinite(i.observed_at) then 'observed_at'
        when length(i.session_id) not between 1 and 255 then 'session_id'
        when length(i.source) between 1 and 255 is not true then 'source'
        when i.strength < 0 or i.strength > 1 then 'strength'
        when num_nonnulls(i.target, i.literal) <> 1 or length(i.target) not between 1 and 255 then 'target'
        when length(i.type) between 1 and 128 is not true then 'type'
        when not isfinite(i.valid_from) then 'valid_from'
        when not isfinite(i.valid_to) or i.valid_to < i.valid_from then 'valid_to'
        when length(i.aspect) not between 1 and 255 or loci.canonical_name(i.aspect) = '' then 'aspect' end) w(field)
    where w.field is not null
    order by i.ordinal limit 1;
    if found then
        v_value := p_edges -> v_wrong.place ->> v_wrong.field;
        if v_wrong.field = 'target' then
            v_value := coalesce(v_value, p_edges -> v_wrong.place ->> 'literal');
        end if;
        raise invalid_parameter_value using
            message = format('edges[%s].%s is not valid: %s%s', v_wrong.place, v_wrong.field,
                             coalesce(left(v_value, 100), 'null'),
                             case when v_wrong.field = 'valid_to' and isfinite(v_value::timestamptz)
                                 then format('; it must not be before valid_from, which is %s',
                                             p_edges -> v_wrong.place ->> 'valid_from') end),
            column = format('edges[%s].%s', v_wrong.place, v_wrong.field);
    end if;
end $$;
comment on function loci_internal.refuse_wrong_edges(jsonb, loci_internal.edge_input[]) is
    'Refuse edges with a field that is not valid. Errors: 22023.';
