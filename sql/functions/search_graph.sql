-- Which memories does the graph suggest for a question? The graph arm of recall (row R1): entities named in the question, what is
-- within settings max_hops of them, and the memories that mention those or are evidence of the edges that led there.
-- Score: sum over a memory's entities of 1/2^hop × confidence of the best edge that reached it × ln(1 + N / mentions).
-- An over-common entity (more than 1,000 mentions, and more than a tenth of all memories) gets out of the way (row R10).
-- Memories whose only tie is that they spell an extracted name of the question are left to the lexical arm.
-- entity, hop and path are those of the best contributor; with the path goes what decay did to each of its edges (row R4).
-- Edges are those of p_as_of as known at p_known_at (null: as believed now); counters are present ones. No filter on memories: the caller joins them.
-- Bounded: 300 edges, 200 entities, 1,000 memories an entity; next to nothing when the question names none.
-- Indexes memory_mentions_entity, edge_observations_edge. Called by recall; internal.
create or replace function loci.search_graph(p_namespace_id integer, p_query text, p_limit integer, p_as_of timestamptz,
                                             p_known_at timestamptz default null)
returns table (memory_id uuid, score double precision, entity_id uuid, entity text, hop integer, path jsonb)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_nestloop = off set enable_seqscan = off
as $$
declare
    v_documents double precision;
    v_start     uuid[] := array(select f.id from loci.find_entities(p_namespace_id, p_query) f order by f.position, f.id limit 50);
begin
    if cardinality(v_start) = 0 then
        return;
    end if;
    v_documents := greatest(1, (select sum(c.documents) from loci_data.corpus_counts c where c.namespace_id = p_namespace_id));
    v_start := array(select e.id from loci_data.entities e
                     where e.namespace_id = p_namespace_id and e.id = any(v_start) and (e.mentions <= 1000 or e.mentions <= v_documents / 10)
                     order by array_position(v_start, e.id));
    return query
    with recursive found as materialized (
        select f.*, coalesce(f.far_id, f.from_id) as about
        from loci.expand_entities(p_namespace_id, v_start, null, 'both', (loci.settings(p_namespace_id) ->> 'max_hops')::integer, 300,
                                  null, 0, coalesce(p_as_of, clock_timestamp()), coalesce(p_known_at, 'infinity')) f
        where f.ordinal is not null
    ), reached as (  -- best edge of the shortest way; ordinal: the first, which the path goes along
        select s.id, 0 as hop, 1.0::double precision as worth, null::integer as ordinal from unnest(v_start) s(id)
        union all
        select f.far_id, f.hop, max(f.confidence), min(f.ordinal)
        from (select r.*, min(r.hop) over (partition by r.far_id) as nearest from found r where r.far_id <> all(v_start)) f
        where f.hop = f.nearest group by f.far_id, f.hop
    ), weighed as materialized (
        select r.id, e.name, e.type, r.hop, r.ordinal, r.worth / 2 ^ r.hop * ln(1 + v_documents / greatest(e.mentions, 1)) as weight
        from reached r
        cross join lateral (select o.name, o.type, o.mentions from loci_data.entities o
                            where o.namespace_id = p_namespace_id and o.id = r.id limit 1) e
        where e.mentions <= 1000 or e.mentions <= v_documents / 10
        order by weight desc, r.id limit 200
    ), pair as (
        select m.memory_id, w.id from weighed w cross join lateral (
            select m.memory_id from loci_data.memory_mentions m
            where m.namespace_id = p_namespace_id and m.entity_id = w.id order by m.memory_id desc limit 1000) m
        where w.hop > 0 or w.type <> 'extracted'
        union
        select o.memory_id, f.about from found f cross join lateral (
            select o.memory_id from loci_data.edge_observations o
            where o.namespace_id = p_namespace_id and o.edge_id = f.id and o.memory_id is not null
            order by o.observed_at desc, o.id limit 1000) o
    ), scored as (
        select p.memory_id, sum(w.weight) as score, (array_agg(w.id order by w.weight desc, w.id))[1] as best
        from pair p join weighed w on w.id = p.id group by p.memory_id
        order by score desc, p.memory_id limit p_limit
    ), named as materialized (
        select i.id, e.name
        from (select unnest(v_start) as id union select f.far_id from found f where f.far_id is not null) i
        cross join lateral (
            select o.name from loci_data.entities o where o.namespace_id = p_namespace_id and o.id = i.id limit 1) e
    ), walked as (
        select f.ordinal, array[s.name, f.type, t.name] as path,
               jsonb_build_array(loci.decay_note(p_namespace_id, f.id, f.type, f.confidence)) as decay
        from found f join named s on s.id = f.from_id join named t on t.id = f.far_id where f.via is null
        union all
        select f.ordinal, w.path || f.type || t.name,
               w.decay || loci.decay_note(p_namespace_id, f.id, f.type, f.confidence)
        from walked w join found f on f.via = w.ordinal join named t on t.id = f.far_id
    )
    select s.memory_id, s.score, w.id, w.name, w.hop,
           jsonb_build_object('path', coalesce(k.path, array[w.name]), 'decay', coalesce(k.decay, '[]'))
    from scored s
    join weighed w on w.id = s.best
    left join walked k on k.ordinal = w.ordinal
    order by s.score desc, s.memory_id;
end $$;
comment on function loci.search_graph(integer, text, integer, timestamptz, timestamptz) is 'Memories that the graph suggests for a question, with score, best entity and path. Internal.';
