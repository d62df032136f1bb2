-- Graph arm of a recall.

-- Graph arm of recall: entities that the question names, their neighbours over living edges, and the memories that
-- mention them or are evidence of an edge on the way; path, where p_paths, says which way, and what decay did on it.
-- Filters and both times apply before the limit. p_ids: what match_entities found in the question, if that is known.
-- The work is search_graph's: 1,000 mentions of the weightiest entities first, which is what most questions need, and
-- all that its bounds allow where too few memories pass. Next to nothing when the question names none.
create or replace function loci_api.recall_graph_arm(
    p_namespace text, p_query text, p_limit integer default null, p_filter jsonb default '{}',
    p_as_of timestamptz default null, p_known_at timestamptz default null, p_paths boolean default true,
    p_ids uuid[] default null)
returns table (id uuid, doc_id bigint, score double precision, path jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter;
    v_limit  integer;
    v_start  uuid[] :=
        coalesce(p_ids[1:50], array(select f.id from loci_internal.find_entities_in_text(v_ns, p_query) f
                                    order by f.position, f.id limit 50));
    v_budget integer := 1000;
    v_ids    uuid[];
    v_docs   bigint[];
    v_scores double precision[];
    v_paths  jsonb[];
    v_cut    boolean;
begin
    if cardinality(v_start) = 0 then
        return;
    end if;
    v_filter := loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
    v_limit := coalesce(p_limit, loci_internal.setting_number(v_ns, 'depth'));
    v_start := loci_internal.entities_to_start_from(v_ns, v_start, p_known_at);
    if v_start = '{}' then
        return;
    end if;
    loop
        select array_agg(g.memory_id order by g.score desc, g.memory_id),
               array_agg(g.doc_id order by g.score desc, g.memory_id),
               array_agg(g.score order by g.score desc, g.memory_id),
               array_agg(g.path order by g.score desc, g.memory_id),
               count(*) < v_limit and (bool_or(g.cut) or count(*) = 0)
        into v_ids, v_docs, v_scores, v_paths, v_cut
        from loci_internal.search_graph(v_ns, v_start, v_filter, v_limit, v_budget, p_paths, p_known_at) g;
        exit when not v_cut or v_budget > 1000;
        v_budget := 1000000;
    end loop;
    return query select u.* from unnest(v_ids, v_docs, v_scores, v_paths) u(id, doc_id, score, path);
end $$;
comment on function loci_api.recall_graph_arm(text, text, integer, jsonb, timestamptz, timestamptz, boolean, uuid[]) is
    'Memories around the entities that a question names, best first, with the path that led there. Errors: 42501, '
    'P0002, 22023.';

-- Those of the entities that a question names from which a search may start: the over-common ones get out of the way,
-- and none is left where all were only read out of texts and lead nowhere by themselves.
create or replace function loci_internal.entities_to_start_from(p_namespace_id integer, p_ids uuid[],
                                                                p_known_at timestamptz)
returns uuid[]
language plpgsql stable
as $$
declare
    v_start uuid[] := array(
        select e.id from loci_data.entities e
        where e.namespace_id = p_namespace_id and e.id = any (p_ids) and (e.mentions <= 1000 or e.mentions <= (
            select sum(c.documents) from loci_data.corpus_counts c where c.namespace_id = p_namespace_id) / 10)
        order by array_position(p_ids, e.id));
begin
    if p_known_at is null and not exists (
            select from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = any (v_start)
              and (e.type <> 'extracted'
                   or exists (select from loci_data.edges d where d.namespace_id = p_namespace_id
                              and d.source_id = e.id)
                   or exists (select from loci_data.edges d where d.namespace_id = p_namespace_id
                              and d.target_id = e.id))) then
        return '{}';
    end if;
    return v_start;
end $$;
comment on function loci_internal.entities_to_start_from(integer, uuid[], timestamptz) is
    'Entities that a question names, without those from which the graph says nothing.';

-- Which memories does the graph suggest for a question that names these entities? The graph arm of recall: what is
-- within settings max_hops of them, and the memories that mention those or are evidence of the edges that led there,
-- best first. Score: sum over a memory's entities of 1/2^hop × confidence of the best edge that reached it × ln(1 + N /
-- mentions). An over-common entity (more than 1,000 mentions, and more than a tenth of all memories) gets out of the
-- way. Memories whose only tie is that they spell an extracted name of the question are left to the lexical arm.
-- Memories among the newest 100 whose names are still to be found mention it if they have a name of it, as they will in
-- a moment. path, where p_paths: the way to the best contributor, and what decay did to each of its edges. Edges are
-- those of p_as_of as known at p_known_at (null: as believed now); counters are present ones. Bounded: 300 edges, 200
-- entities, 1,000 memories an entity, and the weightiest entities up to p_budget mentions in all; cut says, on every
-- row, that there were more. Memories are looked up in order of score until p_limit of them pass the filter. Indexes
-- memory_mentions_entity, edge_observations_edge.
create or replace function loci_internal.search_graph(p_namespace_id integer, p_ids uuid[],
                                                      p_filter loci_internal.memory_filter, p_limit integer,
                                             p_budget integer, p_paths boolean, p_known_at timestamptz default null)
returns table (memory_id uuid, doc_id bigint, score double precision, path jsonb, cut boolean)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_nestloop = off
set enable_seqscan = off
as $$
declare
    v_documents double precision := greatest(1,
                                             (select sum(c.documents) from loci_data.corpus_counts c
                                              where c.namespace_id = p_namespace_id));
    v_max_hops  integer := loci_internal.setting_number(p_namespace_id, 'max_hops');
begin
    return query
    with recursive found as materialized (
        select f.*, coalesce(f.far_id, f.from_id) as about
        from loci_internal.expand_entities(p_namespace_id, p_ids, null, 'both', v_max_hops, 300, null, 0,
                                           p_filter.as_of,
                                  coalesce(p_known_at, 'infinity')) f
        where f.ordinal is not null
    ), reached as (  -- best edge of the shortest way; ordinal: the first, which the path goes along
        select s.id, 0 as hop, 1.0::double precision as worth, null::integer as ordinal from unnest(p_ids) s(id)
        union all
        select f.far_id, f.hop, max(f.confidence), min(f.ordinal)
        from (select r.*, min(r.hop) over (partition by r.far_id) as nearest from found r
              where r.far_id <> all(p_ids)) f
        where f.hop = f.nearest group by f.far_id, f.hop
    ), weighed as materialized (
        select r.*, e.name, e.mentions, e.type = 'extracted' and r.hop = 0 as spelt,
               r.worth / 2 ^ r.hop * ln(1 + v_documents / greatest(e.mentions, 1)) as weight
        from reached r
        cross join lateral (select o.name, o.type, o.mentions from loci_data.entities o
                            where o.namespace_id = p_namespace_id and o.id = r.id limit 1) e
        where e.mentions <= 1000 or e.mentions <= v_documents / 10
        order by weight desc, r.id limit 200
    ), afforded as materialized (
        select w.*, sum(case when w.spelt then 0 else least(w.mentions, 1000) end)
            over (order by w.weight desc, w.id) as spent from weighed w
    ), unread as materialized (  -- saved a moment ago: its names are still to be found
        select q.memory_id, o.content, o.folded,
               regexp_replace(' ' || o.folded || ' ', '[^[:alnum:]]+', ' ', 'g') as words
        from (select n.memory_id from loci_data.name_queue n where n.namespace_id = p_namespace_id
              order by n.enqueued_at desc limit 100) q
        cross join lateral (select s.content, loci.fold_characters(left(s.content, 2000)) as folded
                            from loci_data.memories s
                            where s.namespace_id = p_namespace_id and s.id = q.memory_id limit 1) o
    ), pair as materialized (
        select m.memory_id, w.id, w.weight from afforded w cross join lateral (
            select m.memory_id from loci_data.memory_mentions m
            where m.namespace_id = p_namespace_id and m.entity_id = w.id order by m.memory_id desc limit 1000) m
        where not w.spelt and w.spent - least(w.mentions, 1000) < p_budget
        union
        select o.memory_id, w.id, w.weight from found f join weighed w on w.id = f.about cross join lateral (
            select o.memory_id from loci_data.edge_observations o
            where o.namespace_id = p_namespace_id and o.edge_id = f.id and o.memory_id is not null
            order by o.observed_at desc, o.id limit 1000) o
        union
        select u.memory_id, w.id, w.weight from weighed w cross join lateral (
            select k.canonical_name as name, regexp_replace(' ' || k.canonical_name || ' ', '[^[:alnum:]]+', ' ',
                                                            'g') as words
            from loci_data.entity_names k where k.namespace_id = p_namespace_id and k.entity_id = w.id offset 0) k
        join unread u on strpos(u.folded, k.name) > 0  -- between words, or as names are read where none stand
             and case when strpos(u.words, k.words) > 0 then true else exists (
                 select from loci_internal.name_phrases(p_namespace_id, left(u.content, 2000)) f
                 where f.name = k.name) end
        where not w.spelt
    ), scored as materialized (
        select p.memory_id, sum(p.weight) as score from pair p group by p.memory_id order by score desc, p.memory_id
    ), passed as materialized (
        select s.memory_id, m.doc_id, s.score from scored s cross join lateral (
            select o.doc_id from loci_data.memories o
            where o.namespace_id = p_namespace_id and o.id = s.memory_id
              and loci_internal.memory_is_visible(o, p_filter) limit 1) m
        limit p_limit
    ), best as materialized (
        select distinct on (p.memory_id) p.memory_id, w.name, w.ordinal
        from passed a join pair p on p.memory_id = a.memory_id join weighed w on w.id = p.id
        where p_paths
        order by p.memory_id, w.weight desc, w.id
    ), way as (  -- from the best contributors back to a start
        select b.ordinal as last, b.ordinal, 1 as step from best b where b.ordinal is not null group by b.ordinal
        union all
        select w.last, f.via, w.step + 1 from way w join found f on f.ordinal = w.ordinal where f.via is not null
    ), walked as materialized (
        select w.last, (array_agg(n.start order by w.step desc))[1]
               || array(select u.part
                        from unnest(array_agg(array[loci_internal.path_step(f.type, f.source_id = f.from_id), n.name]
                                                    order by w.step desc)) with ordinality u(part, nth)
                        order by u.nth)
                   as names,
               jsonb_agg(loci_internal.explain_decay(p_namespace_id, f.id, f.type, f.confidence)
                         order by w.step desc) as decay
        from way w join found f on f.ordinal = w.ordinal
        cross join lateral (
            select (select e.name from loci_data.entities e where e.namespace_id = p_namespace_id
                    and e.id = f.far_id) as name,
                   (select e.name from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = f.from_id
                    and f.via is null) as start) n
        group by w.last
    )
    select a.memory_id, a.doc_id, a.score,
           case when p_paths then jsonb_build_object('path', coalesce(k.names, array[b.name]), 'decay',
                                                     coalesce(k.decay, '[]')) end,
           coalesce((select max(w.spent) > p_budget from afforded w), false)
    from passed a left join best b on b.memory_id = a.memory_id left join walked k on k.last = b.ordinal
    order by a.score desc, a.memory_id;
end $$;
comment on function loci_internal.search_graph(integer, uuid[], loci_internal.memory_filter, integer, integer, boolean,
                                               timestamptz) is
    'Memories that the graph suggests for entities that a question names, with score and path.';

-- What did decay do to an edge? Its confidence when last restored, and the effective one that a walk found. One primary
-- key probe.
create or replace function loci_internal.explain_decay(p_namespace_id integer, p_edge_id uuid, p_type text,
                                                       p_confidence double precision) returns jsonb
language sql stable parallel safe
as $$
    select jsonb_build_object('type', p_type, 'confidence', p_confidence, 'observed_confidence', e.confidence,
                              'last_observed_at', e.restored_at)
    from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = p_edge_id
$$;
comment on function loci_internal.explain_decay(integer, uuid, text, double precision) is
    'Effective and observed confidence of an edge, for explanations.';
