-- Expansion of hits: related memories, neighbours in a session, short statements.

-- Second half of a recall: what stands around the best hits, in one statement: neighbours in time of p_documents, and
-- of the best of them (p_seeds, best first) the hierarchy and the memories that share rare names. Arrays are parallel.
-- near_of and near_ids: of a document itself (distance 0), and of its neighbours; near_sources: who said each. Memories
-- without a session and a source are left out. share: what a hit lends to its neighbours, less where memories are long,
-- since a long one stands for itself: 60 terms over their mean, at most 1. covered: how much of the question each of
-- p_seeds says; standing_ids and standings: how documents and neighbours stand to whom the question is about
-- (hit_standings); p_user: who asks; unknown: terms of the question that no memory here has; memories: how many there
-- are. p_from, p_to: the time that the question asks about; time_ids and time_gaps: days between it and documents and
-- neighbours (days_from_period). Arms of which a namespace has nothing (hierarchy and links, names) are not asked, nor
-- shared names where one whom the question names speaks: he is named so often that they say little. took_ms:
-- milliseconds for neighbours, hierarchy, shared names; null for what did not take part. Security definer; checks
-- first.
create or replace function loci_api.expand_recall_hits(
    p_namespace text, p_query text, p_documents bigint[], p_seeds bigint[], p_arms text[], p_filter jsonb default '{}',
    p_as_of timestamptz default null, p_known_at timestamptz default null, p_user text default null,
    p_from timestamptz default null, p_to timestamptz default null, p_terms loci_internal.question_terms default null)
returns table (near_of bigint[], near_ids bigint[], near_distances integer[], near_sources text[],
               share double precision, hierarchy_ids bigint[], hierarchy_scores double precision[],
               hierarchy_paths jsonb, linked_ids bigint[], linked_scores double precision[], linked_paths jsonb,
               took_ms real[], covered double precision[], terms integer, unknown integer, memories bigint,
               standing_ids bigint[], standings text[], time_ids bigint[], time_gaps double precision[])
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_at    timestamptz[] := array[clock_timestamp()];  -- when the steps began
    v_ns    integer := loci_internal.authorize(p_namespace, 'reader');
    v_asked record;  -- names that the question has
    v_terms loci_internal.question_terms := coalesce(p_terms, loci_internal.weigh_terms(v_ns, p_query, null));
begin
    v_asked := loci_internal.names_asked_for(v_ns, p_query);
    select least(1, 60.0 * sum(c.documents) / nullif(sum(c.terms), 0)) into share
    from loci_data.corpus_counts c where c.namespace_id = v_ns;
    select array_agg(n.doc_id), array_agg(n.neighbour_id), array_agg(n.distance), array_agg(n.source)
    into near_of, near_ids, near_distances, near_sources
    from loci_internal.neighbours_in_session(
        v_ns, p_documents, loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at)) n;
    v_at := v_at || clock_timestamp();
    select array_agg(r.doc_id), array_agg(r.score),
           jsonb_agg(jsonb_build_object('from', r.seed_id, 'relation', r.relation))
    into hierarchy_ids, hierarchy_scores, hierarchy_paths
    from loci_api.related_memories(p_namespace, p_seeds[1:10], null, p_filter, p_as_of, p_known_at) r
    where 'hierarchy' = any (p_arms) and loci_internal.has_relatives(v_ns);
    v_at := v_at || clock_timestamp();
    select array_agg(s.doc_id), array_agg(s.standing) into standing_ids, standings
    from loci_internal.hit_standings(v_ns, p_query, p_user, p_documents || near_ids, v_asked.names, v_asked.entities) s;
    v_at := v_at || clock_timestamp();
    select array_agg(l.doc_id), array_agg(l.score), jsonb_agg(jsonb_build_object('path', l.path))
    into linked_ids, linked_scores, linked_paths
    from loci_api.memories_sharing_names(p_namespace, p_query, p_seeds[1:20], null, p_filter, p_as_of, p_known_at,
                                         v_asked.names, v_asked.entities, v_asked.memories) l
    where 'graph' = any (p_arms) and v_asked.known and not coalesce(standings && '{told,said}', false);
    took_ms := loci_internal.milliseconds_between(
        v_at || clock_timestamp(), array[true, 'hierarchy' = any (p_arms), null, 'graph' = any (p_arms)]);
    covered := loci_internal.question_coverage(v_ns, v_terms, p_seeds[1:20]);
    terms := v_terms.counted;
    unknown := v_terms.unknown;
    memories := v_terms.documents;
    select array_agg(g.doc_id), array_agg(g.days) into time_ids, time_gaps
    from loci_internal.days_from_period(v_ns, p_documents || near_ids, p_from, p_to) g where p_from is not null;
    return next;
end $$;
comment on function loci_api.expand_recall_hits(text, text, bigint[], bigint[], text[], jsonb, timestamptz,
                                                timestamptz, text, timestamptz, timestamptz,
                                                loci_internal.question_terms) is
    'Surroundings of the best hits of a recall: neighbours in their sessions, hierarchy and links, memories that '
    'share rare names; how much of the question each says; one row of parallel arrays.';

-- Does a namespace have a hierarchy or links? Two probes.
create or replace function loci_internal.has_relatives(p_namespace_id integer) returns boolean
language plpgsql stable
as $$
begin
    return exists (select from loci_data.memory_closure c where c.namespace_id = p_namespace_id)
           or exists (select from loci_data.memory_links l where l.namespace_id = p_namespace_id);
end $$;
comment on function loci_internal.has_relatives(integer) is
    'Whether any memory of a namespace has a parent or a link.';

-- Which memories were said just before and after these, in the same session? Up to two on each side, visible and
-- passing the filters, with who said it; and each of these itself, at distance 0. Two short ranges of the index
-- memories_session each. Callers have checked the rights; it reads past the policies.
create or replace function loci_internal.neighbours_in_session(
    p_namespace_id integer, p_documents bigint[], p_filter loci_internal.memory_filter)
returns table (doc_id bigint, neighbour_id bigint, distance integer, source text)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
    if not exists (select from loci_data.memories m where m.namespace_id = p_namespace_id and m.session_id is not null)
       and not exists (select from loci_data.memories m where m.namespace_id = p_namespace_id
                       and m.source is not null) then
        return;
    end if;
    return query
    select m.doc_id, n.doc_id, n.distance::integer, n.source
    from (select o.doc_id, o.session_id, o.valid_from, o.source from loci_data.memories o
          where o.namespace_id = p_namespace_id and o.doc_id = any (p_documents)
            and (o.session_id is not null or o.source is not null)) m
    cross join lateral (
        select m.doc_id, 0 as distance, m.source
        union all
        (select b.doc_id, row_number() over (), b.source from (
            select o.doc_id, o.source from loci_data.memories o
            where o.namespace_id = p_namespace_id and o.session_id = m.session_id
              and (o.valid_from, o.doc_id) < (m.valid_from, m.doc_id)
              and loci_internal.memory_is_visible(o, p_filter)
            order by o.valid_from desc, o.doc_id desc limit 2) b)
        union all
        (select a.doc_id, row_number() over (), a.source from (
            select o.doc_id, o.source from loci_data.memories o
            where o.namespace_id = p_namespace_id and o.session_id = m.session_id
              and (o.valid_from, o.doc_id) > (m.valid_from, m.doc_id)
              and loci_internal.memory_is_visible(o, p_filter)
            order by o.valid_from, o.doc_id limit 2) a)) n;
end $$;
comment on function loci_internal.neighbours_in_session(integer, bigint[], loci_internal.memory_filter) is
    'Memories themselves (distance 0) and their neighbours in time, at distance 1 and 2, within their sessions.';

-- Relatives of these memories in the hierarchy: parent, children, siblings, and links. Seeds come best first; a
-- relative is worth its relation (link: its strength of then, see link_at) over the rank of its seed. At most 20 of a
-- kind for a seed (relatives_of). A link contradicts leads from what is old to what may outdate it, and not back.
-- Ranges of memory_closure and memory_links by node, then the visible version of each.
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
        from seed s cross join lateral loci_internal.relatives_of(v_ns, s.node, v_filter.as_of, p_as_of, p_known_at) r
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

-- Relatives of one memory: parent, children, siblings, and links, at most 20 of a kind. p_at: the moment of the
-- hierarchy; p_as_of null: links as strong as now. Inlines.
create or replace function loci_internal.relatives_of(
    p_namespace_id integer, p_node uuid, p_at timestamptz, p_as_of timestamptz, p_known_at timestamptz)
returns table (node uuid, relation text, weight double precision)
language sql stable
as $$
    (select c.ancestor_id, 'parent', 1.0::double precision from loci_data.memory_closure c
     where c.namespace_id = p_namespace_id and c.descendant_id = p_node and c.depth = 1
       and loci.holds_at(c.valid_from, c.valid_to, c.recorded_at, c.superseded_at, p_at, p_known_at))
    union all
    (select c.descendant_id, 'child', 0.8 from loci_data.memory_closure c
     where c.namespace_id = p_namespace_id and c.ancestor_id = p_node and c.depth = 1
       and loci.holds_at(c.valid_from, c.valid_to, c.recorded_at, c.superseded_at, p_at, p_known_at)
     order by c.descendant_id limit 20)
    union all
    (select b.descendant_id, 'sibling', 0.6 from loci_data.memory_closure c
     join loci_data.memory_closure b on b.namespace_id = p_namespace_id and b.ancestor_id = c.ancestor_id
          and b.depth = 1
     where c.namespace_id = p_namespace_id and c.descendant_id = p_node and c.depth = 1 and b.descendant_id <> p_node
       and loci.holds_at(c.valid_from, c.valid_to, c.recorded_at, c.superseded_at, p_at, p_known_at)
       and loci.holds_at(b.valid_from, b.valid_to, b.recorded_at, b.superseded_at, p_at, p_known_at)
     order by b.descendant_id limit 20)
    union all
    (select l.target_id, l.type, h.strength from loci_data.memory_links l
     cross join lateral (select l.strength where p_as_of is null union all
                         select (loci_internal.link_at(l, p_as_of)).strength where p_as_of is not null) h
     where l.namespace_id = p_namespace_id and l.source_id = p_node and l.type <> 'contradicts'
       and (p_known_at is null or l.recorded_at <= p_known_at)
       and (l.superseded_at is null or l.superseded_at > p_known_at)
     order by h.strength desc, l.target_id limit 20)
    union all
    (select l.source_id, l.type, h.strength from loci_data.memory_links l
     cross join lateral (select l.strength where p_as_of is null union all
                         select (loci_internal.link_at(l, p_as_of)).strength where p_as_of is not null) h
     where l.namespace_id = p_namespace_id and l.target_id = p_node
       and (p_known_at is null or l.recorded_at <= p_known_at)
       and (l.superseded_at is null or l.superseded_at > p_known_at)
     order by h.strength desc, l.source_id limit 20)
$$;
comment on function loci_internal.relatives_of(integer, uuid, timestamptz, timestamptz, timestamptz) is
    'Parent, children, siblings and linked memories of one memory, with the weight of each relation.';

-- What do these memories say, as far as they are short (up to 300 characters), and what did their lineages say before?
-- For who compares statements: content (with whom it is about in front, where it does not say so), category, earlier
-- versions that are short as well (the last eight, the latest first; forgotten ones are left out), from when they are
-- valid, as believed at p_known_at, and when they were recorded. 200 documents at most; a look-up each, and a range of
-- memories_chain for those that are not the first version. Security definer; checks first.
create or replace function loci_api.short_statements(
    p_namespace text, p_documents bigint[], p_known_at timestamptz default null)
returns table (doc_id bigint, content text, earlier text[], valid_from timestamptz, recorded_at timestamptz,
               category text)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    select b.doc_id, loci_internal.text_with_subject(m.content, m.about),
           case when m.version > 1 then array(
               select e.content from loci_data.memories e
               where e.namespace_id = v_ns and e.lineage_id = m.lineage_id and e.version < m.version
                   and e.status = 'active' and length(e.content) <= 300
               order by e.version desc limit 8) else '{}' end,
           b.valid_from, b.recorded_at, m.category
    from unnest(p_documents[:200]) d(number)
    cross join lateral (select o.* from loci_data.memories o where o.namespace_id = v_ns
                        and o.doc_id = d.number limit 1) m
    cross join lateral loci_internal.memory_as_believed(m, p_known_at) b
    where length(m.content) <= 300;
end $$;
comment on function loci_api.short_statements(text, bigint[], timestamptz) is
    'Contents of the short ones of some memories, what their lineages said before, and since when they hold. Errors: '
    '42501, P0002.';
