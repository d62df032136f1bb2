-- Constraints of a walk, page by page. loci.walk puts them in order: the most important first, whatever the question.

-- Which rules hold for these entities? All their constraints, whatever the weight of their aspects: 32 of
-- every entity, most important first, then 500 at a time of those that have more, until none is left, or p_deadline has
-- passed, or their texts are 16 MiB: then a last row without an id says that there may be more. Rows come page by page.
-- Cost: about 10 µs a constraint; see constraint_page.
create or replace function loci_internal.walk_constraints(
    p_namespace_id integer, p_ids uuid[], p_filter loci_internal.memory_filter, p_deadline timestamptz)
returns table (entity_id uuid, entity text, aspect_id uuid, aspect text, id uuid, content text,
               importance double precision, confidence double precision, memory_id uuid, doc_id bigint)
language plpgsql stable set search_path = ''
as $$
declare
    v_ids   uuid[] := p_ids;  -- entities of which a page is read, and after which of their constraints
    v_ranks double precision[] := array_fill('infinity'::double precision, array[cardinality(p_ids)]);
    v_last  uuid[] := array_fill('ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid, array[cardinality(p_ids)]);
    v_done  integer := 0;     -- entities of v_ids whose page was read
    v_next  integer;
    v_size  integer;          -- of a page of an entity
    v_n     integer;          -- rows of the entity in this page
    v_bytes bigint := 0;
    v_late  boolean := false;
    v_row   record;
begin
    while v_done < cardinality(v_ids) and not v_late loop
        v_size := case when v_done < cardinality(p_ids) then 32 else 500 end;
        v_next := case when v_done < cardinality(p_ids) then least(v_done + 32, cardinality(p_ids)) else v_done + 1 end;
        entity_id := null;
        for v_row in select p.* from loci_internal.constraint_page(
            p_namespace_id, v_ids[v_done + 1 : v_next], v_ranks[v_done + 1 : v_next], v_last[v_done + 1 : v_next],
            v_size, p_filter, p_deadline) p
        loop
            v_n := case when entity_id = v_row.entity_id then v_n + 1 else 1 end;
            entity_id := v_row.entity_id;
            continue when not v_row.held;
            entity := v_row.entity; aspect_id := v_row.aspect_id; aspect := v_row.aspect; id := v_row.id;
            content := v_row.content; importance := v_row.importance; confidence := v_row.confidence;
            memory_id := v_row.memory_id; doc_id := v_row.doc_id;
            v_bytes := v_bytes + octet_length(content);
            return next;
            if v_n = v_size then
                v_ids := v_ids || entity_id; v_ranks := v_ranks || v_row.rank; v_last := v_last || id;
            end if;
        end loop;
        v_done := v_next;
        v_late := v_bytes > 16 * 1024 * 1024 or clock_timestamp() > p_deadline;
    end loop;
    if v_late then
        id := null;
        return next;
    end if;
end $$;
comment on function loci_internal.walk_constraints(integer, uuid[], loci_internal.memory_filter, timestamptz) is
    'Constraints of entities; a last row without an id: there may be more.';

-- The next constraints of some entities: of each at most p_size that hold at the times of p_filter, after a place
-- (p_ranks, p_last: importance and id of the last one read), most important first, at equal importance the newest
-- first. Past p_deadline every row passes (held is then false), and so ends the search for one that holds. memory_id
-- and doc_id: only of a memory that passes p_filter. Index attributes_constraints; order and place are those of the
-- present importance.
create or replace function loci_internal.constraint_page(
    p_namespace_id integer, p_ids uuid[], p_ranks double precision[], p_last uuid[], p_size integer,
    p_filter loci_internal.memory_filter,
    p_deadline timestamptz)
returns table (entity_id uuid, entity text, aspect_id uuid, aspect text, id uuid, content text,
               importance double precision,
               confidence double precision, memory_id uuid, doc_id bigint, rank double precision, held boolean)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    return query
    select f.id, n.name, c.aspect_id, s.name, c.id, c.content, c.importance, c.confidence, m.id, m.doc_id, c.rank,
           c.held
    from unnest(p_ids, p_ranks, p_last) with ordinality f(id, rank, last, place)
    cross join lateral (
        select a.id, a.aspect_id, a.content, a.importance as rank, h.importance, h.confidence, a.memory_id, h.held
        from loci_data.attributes a
        cross join lateral loci_internal.attribute_at(a, p_filter.as_of, coalesce(p_filter.known_at, 'infinity')) h
        where a.namespace_id = p_namespace_id and a.entity_id = f.id and a.kind = 'constraint'
          and (a.importance, a.id) < (f.rank, f.last) and (h.held or clock_timestamp() > p_deadline)
        order by a.importance desc, a.id desc limit p_size) c
    cross join lateral (select o.name from loci_data.entities o where o.namespace_id = p_namespace_id
                        and o.id = f.id limit 1) n
    cross join lateral (select o.name from loci_data.aspects o where o.namespace_id = p_namespace_id
                        and o.id = c.aspect_id limit 1) s
    left join lateral (select m.id, m.doc_id from loci_data.memories m
                       where m.namespace_id = p_namespace_id and m.id = c.memory_id
                         and loci_internal.memory_is_visible(m, p_filter) limit 1) m on true
    order by f.place, c.rank desc, c.id desc;
end $$;
comment on function loci_internal.constraint_page(integer, uuid[], double precision[], uuid[], integer,
                                                  loci_internal.memory_filter, timestamptz) is
    'The next constraints of some entities, most important first.';

-- Gather the constraints of a walk (walk_constraints): memories behind them (ids) with their scores, and the
-- constraints as people see them (items). p_shares: by how much each of p_ids counts. late: there may be more.
create or replace function loci_internal.gather_walk_constraints(
    p_namespace_id integer, p_ids uuid[], p_shares double precision[], p_filter loci_internal.memory_filter,
    p_deadline timestamptz, out ids uuid[], out scores double precision[], out items json, out late boolean)
language plpgsql stable
as $$
begin
    with rule as materialized (
        select c.*, e.share
        from loci_internal.walk_constraints(p_namespace_id, p_ids, p_filter, p_deadline) c
        left join unnest(p_ids, p_shares) e(id, share) on e.id = c.entity_id
    ), shown as (
        select r.id, r.entity_id, r.entity, r.aspect_id, r.aspect, r.content, r.importance, r.confidence, r.memory_id
        from rule r where r.id is not null order by r.importance desc, r.id desc
    )
    select array_agg(r.memory_id) filter (where r.memory_id is not null),
           array_agg(r.importance * r.share) filter (where r.memory_id is not null),
           (select json_agg(s) from shown s), bool_or(r.id is null)
    into ids, scores, items, late from rule r;
end $$;
comment on function loci_internal.gather_walk_constraints is
    'Constraints of a walk: memories behind them with scores, and what is shown.';
