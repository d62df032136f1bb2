-- The next constraints of some entities: of each at most p_size that hold at the times of p_filter, after a place (p_ranks, p_last: importance
-- and id of the last one read), most important first, at equal importance the newest first. Past p_deadline every row passes
-- (held is then false), and so ends the search for one that holds. memory_id and doc_id: only of a memory that passes p_filter.
-- Index attributes_constraints; order and place are those of the present importance. Called by walk_constraints; internal.
create or replace function loci.constraint_page(
    p_namespace_id integer, p_ids uuid[], p_ranks double precision[], p_last uuid[], p_size integer, p_filter loci.memory_filter,
    p_deadline timestamptz)
returns table (entity_id uuid, entity text, aspect_id uuid, aspect text, id uuid, content text, importance double precision,
               confidence double precision, memory_id uuid, doc_id bigint, rank double precision, held boolean)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    return query
    select f.id, n.name, c.aspect_id, s.name, c.id, c.content, c.importance, c.confidence, m.id, m.doc_id, c.rank, c.held
    from unnest(p_ids, p_ranks, p_last) with ordinality f(id, rank, last, place)
    cross join lateral (
        select a.id, a.aspect_id, a.content, a.importance as rank, h.importance, h.confidence, a.memory_id, h.held
        from loci_data.attributes a
        cross join lateral loci.attribute_then(a, p_filter.as_of, coalesce(p_filter.known_at, 'infinity')) h
        where a.namespace_id = p_namespace_id and a.entity_id = f.id and a.kind = 'constraint'
          and (a.importance, a.id) < (f.rank, f.last) and (h.held or clock_timestamp() > p_deadline)
        order by a.importance desc, a.id desc limit p_size) c
    cross join lateral (select o.name from loci_data.entities o where o.namespace_id = p_namespace_id and o.id = f.id limit 1) n
    cross join lateral (select o.name from loci_data.aspects o where o.namespace_id = p_namespace_id and o.id = c.aspect_id limit 1) s
    left join lateral (select m.id, m.doc_id from loci_data.memories m
                       where m.namespace_id = p_namespace_id and m.id = c.memory_id and loci.passes(m, p_filter) limit 1) m on true
    order by f.place, c.rank desc, c.id desc;
end $$;
comment on function loci.constraint_page(integer, uuid[], double precision[], uuid[], integer, loci.memory_filter, timestamptz) is 'The next constraints of some entities, most important first. Internal.';
