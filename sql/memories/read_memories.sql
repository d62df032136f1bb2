-- Memories as they are read: one, several, lists, categories.

-- These memories, whatever their version or status; in the order asked. One primary key look-up each.
create or replace function loci.get_memories(p_namespace text, p_ids uuid[]) returns setof loci.memory_record
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
    v_at timestamptz := clock_timestamp();
begin
    return query
    select (loci.memory_record(m, v_at, p.parent_id)).*
    from unnest(p_ids) with ordinality i(id, place)
    cross join lateral (select o.* from loci_data.memories o where o.namespace_id = v_ns and o.id = i.id limit 1) m
    left join lateral loci_internal.parent_of(m, v_at, null) p on true
    order by i.place;
end $$;
comment on function loci.get_memories(text, uuid[]) is
    'Memories by id, in the order asked; unknown ids are left out. Errors: 42501, P0002.';

-- One memory at two times. Neither stated: this version as it is believed now. known_at: this version as it was
-- believed then. as_of: the version of its lineage that was valid then. Index look-ups.
create or replace function loci.get_memory(
    p_namespace text, p_id uuid, p_as_of timestamptz default null, p_known_at timestamptz default null)
returns setof loci.memory_record
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, '{}', p_as_of, p_known_at);
    v_node   uuid := loci_internal.lineage_id_of(v_ns, p_id);
begin
    return query
    select (loci.memory_record(b, v_filter.as_of, p.parent_id)).*
    from (select o.* from loci_data.memories o
          where o.namespace_id = v_ns and o.id = p_id and p_as_of is null
          union all
          (select o.* from loci_data.memories o
           where o.namespace_id = v_ns and o.lineage_id = v_node and p_as_of is not null
             and o.valid_from <= v_filter.begun_by and loci_internal.memory_is_visible(o, v_filter)
           order by o.valid_from desc limit 1)) m
    cross join lateral loci_internal.memory_as_believed(m, p_known_at) b
    left join lateral loci_internal.parent_of(b, v_filter.as_of, p_known_at) p on true
    where b.id is not null;
    if not found then
        raise no_data_found using column = 'id', message = format('memory %s did not exist at %s', p_id,
            concat_ws(', known at ', p_as_of, p_known_at));
    end if;
end $$;
comment on function loci.get_memory(text, uuid, timestamptz, timestamptz) is
    'A memory as believed at known_at; with as_of, the version of its lineage that was valid then. Errors: 42501, '
    'P0002, 22023.';

-- Newest first, page by page: what is visible at as_of and known_at and passes the filters. p_cursor is the last page's
-- last cursor. Walks the unique index on doc_id.
create or replace function loci.list_memories(
    p_namespace text, p_filter jsonb default '{}', p_limit integer default 50, p_cursor bigint default null,
    p_as_of timestamptz default null, p_known_at timestamptz default null, p_all_versions boolean default false)
returns setof loci.memory_record
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
begin
    return query
    select (loci.memory_record(b, v_filter.as_of, p.parent_id)).*
    from (select m.* from loci_data.memories m
          where m.namespace_id = v_ns and m.doc_id < coalesce(p_cursor, 9223372036854775807)
            and case when not p_all_versions then loci_internal.memory_is_visible(m, v_filter)
                     when p_known_at is null then loci_internal.memory_matches(m, v_filter)
                     else m.recorded_at <= p_known_at
                         and loci_internal.memory_matches(loci_internal.memory_as_believed(m, p_known_at), v_filter) end
          order by m.doc_id desc limit p_limit) page
    cross join lateral loci_internal.memory_as_believed(page, p_known_at) b
    left join lateral loci_internal.parent_of(b, v_filter.as_of, p_known_at) p on true
    order by b.doc_id desc;
end $$;
comment on function loci.list_memories(text, jsonb, integer, bigint, timestamptz, timestamptz, boolean) is
    'A page of memories, newest first. Errors: 42501, P0002, 22023.';

-- What was true at a moment, as known at a moment? For analysts: every memory that was visible then, newest
-- first, or those that pass the filters of recall. Reads the namespace in the order of arrival; stops at p_limit.
create or replace function loci.memories_as_of(
    p_namespace text, p_as_of timestamptz default null, p_known_at timestamptz default null,
    p_filter jsonb default '{}', p_limit integer default null)
returns setof loci.memory_record
language sql stable set search_path = ''
as $$
    select * from loci.list_memories(p_namespace, p_filter, p_limit, null, p_as_of, p_known_at)
$$;
comment on function loci.memories_as_of(text, timestamptz, timestamptz, jsonb, integer) is
    'Memories that were valid at as_of, as believed at known_at (both default to now), newest first. Errors: 42501, '
    'P0002, 22023.';

-- What does each of these lineages say? Of each the version that is visible at as_of, as believed at known_at (null:
-- now), in the order asked; lineages without one are left out. Walks each lineage backwards over the unique index on
-- (lineage, version), so it finds the current one at once. Security definer: reads past the policies; checks the caller
-- itself. Errors: 42501, P0002, 22023.
create or replace function loci.current_versions(
    p_namespace text, p_lineages text[], p_as_of timestamptz default null, p_known_at timestamptz default null)
returns setof loci.memory_record
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, '{}', p_as_of, p_known_at);
begin
    return query
    select (loci.memory_record(b, v_filter.as_of, p.parent_id)).*
    from (select l.lineage, min(l.place) as place from unnest(p_lineages) with ordinality l(lineage, place)
          group by l.lineage) asked
    cross join lateral (select o.* from loci_data.memories o
                        where o.namespace_id = v_ns and o.lineage = asked.lineage
                          and loci_internal.memory_is_visible(o, v_filter)
                        order by o.version desc limit 1) m
    cross join lateral loci_internal.memory_as_believed(m, p_known_at) b
    left join lateral loci_internal.parent_of(b, v_filter.as_of, p_known_at) p on true
    order by asked.place;
end $$;
comment on function loci.current_versions(text, text[], timestamptz, timestamptz) is
    'The visible version of each of these lineages at two times, in the order asked; those without one are left out. '
    'Errors: 42501, P0002, 22023.';

-- Details of a memory, beside its content and its time. Inlines.
create or replace function loci.memory_details(p_memory loci_data.memories) returns loci.memory_details
language sql immutable parallel safe
as $$
    select row(p_memory.category collate "C", p_memory.tags, p_memory.layer, p_memory.importance, p_memory.confidence,
               p_memory.metadata, p_memory.about)::loci.memory_details
$$;
comment on function loci.memory_details(loci_data.memories) is
    'Details of a memory, beside its content and its time.';

-- A memory in the shape that every surface shows, with the parent that parent_of found, and whom it is about. Inlines.
create or replace function loci.memory_record(p_memory loci_data.memories, p_at timestamptz, p_parent_id uuid)
returns loci.memory_record
language sql stable parallel safe
as $$
    select row(p_memory.id, p_memory.lineage, p_memory.version, p_memory.content, p_parent_id, p_memory.valid_from,
               p_memory.valid_to, p_memory.recorded_at, p_memory.superseded_at,
               loci.holds_at(p_memory, p_at, null),
               p_memory.status, p_memory.source, p_memory.session_id, p_memory.observations, p_memory.last_observed_at,
               p_memory.updated_at, p_memory.doc_id, p_memory.category collate "C", p_memory.tags, p_memory.layer,
               p_memory.importance, p_memory.confidence, p_memory.metadata,
               loci.memory_about(p_memory))::loci.memory_record
$$;
comment on function loci.memory_record(loci_data.memories, timestamptz, uuid) is
    'Public shape of a memory; current is told at a moment.';

-- Categories as a tree in path order, with counts of visible memories: in each category itself, and below it. One index
-- scan over the namespace.
create or replace function loci.list_categories(
    p_namespace text, p_under text default null, p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (category text, memories bigint, total bigint)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(
        v_ns, case when p_under is null then '{}' else jsonb_build_object('category', p_under) end, p_as_of,
        p_known_at);
begin
    return query
    with leaf as (
        select l.category, string_to_array(l.category, '/') as steps, count(*) as memories
        from (select case when p_known_at is null then m.category
              else (loci_internal.memory_as_believed(m, p_known_at)).category end as category
              from loci_data.memories m where m.namespace_id = v_ns and loci_internal.memory_is_visible(m, v_filter)) l
        group by l.category
    ), node as (
        select array_to_string(l.steps[1:d], '/') as path, d = cardinality(l.steps) as own, l.memories
        from leaf l cross join generate_series(1, cardinality(l.steps)) d
    )
    select n.path, coalesce(sum(n.memories) filter (where n.own), 0)::bigint, sum(n.memories)::bigint
    from node n where v_filter.category is null or n.path = v_filter.category
        or starts_with(n.path, v_filter.category || '/')
    group by n.path order by n.path collate "C";
end $$;
comment on function loci.list_categories(text, text, timestamptz, timestamptz) is
    'Category paths with the number of memories in each, and in it and below, at two times. Errors: 42501, P0002.';
