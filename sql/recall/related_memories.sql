-- Relatives of these memories in the hierarchy: parent, children, siblings, and links. Seeds come best first; a
-- relative is worth its relation (link: its strength of then, see link_at) over the rank of its seed. At most 20 of a
-- kind for a seed. Ranges of memory_closure and memory_links by node, then the visible version of each.
create or replace function loci_api.related_memories(
    p_namespace text, p_documents bigint[], p_limit integer default null, p_filter jsonb default '{}',
    p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (id uuid, doc_id bigint, score double precision, seed_id uuid, relation text)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
    v_limit  integer := coalesce(p_limit, (loci_internal.settings(v_ns) ->> 'depth')::integer);
begin
    return query
    with seed as materialized (
        select m.id, i.place, m.lineage_id as node
        from unnest(p_documents) with ordinality i(doc_id, place)
        cross join lateral (select o.id, o.lineage_id from loci_data.memories o
                            where o.namespace_id = v_ns and o.doc_id = i.doc_id limit 1) m
    ), relative as (
        select s.*, r.node as relative, r.relation, r.weight
        from seed s cross join lateral (
            (select c.ancestor_id as node, 'parent' as relation, 1.0::double precision as weight
             from loci_data.memory_closure c
             where c.namespace_id = v_ns and c.descendant_id = s.node and c.depth = 1
               and loci.holds_at(c.valid_from, c.valid_to, c.recorded_at, c.superseded_at, v_filter.as_of, p_known_at))
            union all
            (select c.descendant_id, 'child', 0.8 from loci_data.memory_closure c
             where c.namespace_id = v_ns and c.ancestor_id = s.node and c.depth = 1
               and loci.holds_at(c.valid_from, c.valid_to, c.recorded_at, c.superseded_at, v_filter.as_of, p_known_at)
             order by c.descendant_id limit 20)
            union all
            (select b.descendant_id, 'sibling', 0.6 from loci_data.memory_closure c
             join loci_data.memory_closure b on b.namespace_id = v_ns and b.ancestor_id = c.ancestor_id and b.depth = 1
             where c.namespace_id = v_ns and c.descendant_id = s.node and c.depth = 1 and b.descendant_id <> s.node
               and loci.holds_at(c.valid_from, c.valid_to, c.recorded_at, c.superseded_at, v_filter.as_of, p_known_at)
               and loci.holds_at(b.valid_from, b.valid_to, b.recorded_at, b.superseded_at, v_filter.as_of, p_known_at)
             order by b.descendant_id limit 20)
            union all
            (select l.target_id, l.type, h.strength from loci_data.memory_links l
             cross join lateral (select l.strength where p_as_of is null union all
                                 select (loci_internal.link_at(l, p_as_of)).strength where p_as_of is not null) h
             where l.namespace_id = v_ns and l.source_id = s.node
               and (p_known_at is null or l.recorded_at <= p_known_at)
               and (l.superseded_at is null or l.superseded_at > p_known_at)
             order by h.strength desc, l.target_id limit 20)
            union all
            (select l.source_id, l.type, h.strength from loci_data.memory_links l
             cross join lateral (select l.strength where p_as_of is null union all
                                 select (loci_internal.link_at(l, p_as_of)).strength where p_as_of is not null) h
             where l.namespace_id = v_ns and l.target_id = s.node
               and (p_known_at is null or l.recorded_at <= p_known_at)
               and (l.superseded_at is null or l.superseded_at > p_known_at)
             order by h.strength desc, l.source_id limit 20)) r
    )
    select m.id, m.doc_id, sum(r.weight / r.place) as score,
           (array_agg(r.id order by r.weight / r.place desc, r.place))[1],
           (array_agg(r.relation order by r.weight / r.place desc, r.place))[1]
    from relative r
    cross join lateral (
        select o.id, o.doc_id from loci_data.memories o
        where o.namespace_id = v_ns and o.lineage_id = r.relative and o.valid_from <= v_filter.begun_by
          and loci_internal.memory_is_visible(o, v_filter)
        order by o.valid_from desc limit 1) m
    group by m.id, m.doc_id order by score desc, m.doc_id limit v_limit;
end $$;
comment on function loci_api.related_memories(text, bigint[], integer, jsonb, timestamptz, timestamptz) is
    'Parents, children, siblings and linked memories of seeds, best first, with the seed and relation that led there. '
    'Errors: 42501, P0002.';
