-- Second half of a recall: what stands around the best hits, in one statement: neighbours in time of p_documents, and
-- of the best of them (p_seeds, best first) the hierarchy and the memories that share rare names. Arrays are parallel.
-- near_of and near_ids: of a document itself (distance 0), and of its neighbours; near_sources: who said each. Memories
-- without a session and a source are left out. share: what a hit lends to its neighbours, less where memories are long,
-- since a long one stands for itself: 60 terms over their mean, at most 1. covered: how much of the question each of
-- p_seeds says; standing_ids and standings: how documents and neighbours stand to whom the question is about
-- (hit_standings); p_user: who asks; unknown: terms of the question that no memory here has; memories: how many there
-- are. p_from, p_to: the time that the question asks about; time_ids and time_gaps: days between it and documents and
-- neighbours (days_from_period). Arms of which a namespace has nothing (hierarchy and links, names) are not asked.
-- took_ms: milliseconds for neighbours, hierarchy, shared names; null for what did not take part. Security definer;
-- checks first.
create or replace function loci_api.expand_recall_hits(
    p_namespace text, p_query text, p_documents bigint[], p_seeds bigint[], p_arms text[], p_filter jsonb default '{}',
    p_as_of timestamptz default null, p_known_at timestamptz default null, p_user text default null,
    p_from timestamptz default null, p_to timestamptz default null)
returns table (near_of bigint[], near_ids bigint[], near_distances integer[], near_sources text[],
               share double precision,
               hierarchy_ids bigint[], hierarchy_scores double precision[], hierarchy_paths jsonb,
               linked_ids bigint[], linked_scores double precision[], linked_paths jsonb, took_ms real[],
               covered real[], terms integer, unknown integer, memories bigint, standing_ids bigint[], standings text[],
               time_ids bigint[], time_gaps double precision[])
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_at timestamptz := clock_timestamp();  -- when the step began
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
    v_names    text[];  -- that the question has, of entities or of a memory that alone has it
    v_entities uuid[];
    v_memories uuid[];
begin
    select coalesce(array_agg(q.name), '{}'), coalesce(array_agg(q.entity_id), '{}'),
           coalesce(array_agg(q.memory_id), '{}')
    into v_names, v_entities, v_memories from loci_internal.question_names(v_ns, p_query) q;
    select least(1, 60.0 * sum(c.documents) / nullif(sum(c.terms), 0)) into share
    from loci_data.corpus_counts c where c.namespace_id = v_ns;
    select array_agg(n.doc_id), array_agg(n.neighbour_id), array_agg(n.distance), array_agg(n.source)
    into near_of, near_ids, near_distances, near_sources
    from loci_internal.neighbours_in_session(
        v_ns, p_documents, loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at)) n;
    took_ms := took_ms || (1000 * extract(epoch from clock_timestamp() - v_at))::real;
    v_at := clock_timestamp();
    if 'hierarchy' = any (p_arms) and (
        exists (select from loci_data.memory_closure c where c.namespace_id = v_ns)
        or exists (select from loci_data.memory_links l where l.namespace_id = v_ns)) then
        select array_agg(r.doc_id), array_agg(r.score),
               jsonb_agg(jsonb_build_object('from', r.seed_id, 'relation', r.relation))
        into hierarchy_ids, hierarchy_scores, hierarchy_paths
        from loci_api.related_memories(p_namespace, p_seeds[1:10], null, p_filter, p_as_of, p_known_at) r;
    end if;
    took_ms := took_ms || (case when 'hierarchy' = any (p_arms)
                           then 1000 * extract(epoch from clock_timestamp() - v_at) end)::real;
    v_at := clock_timestamp();
    if 'graph' = any (p_arms) and (
        exists (select from loci_data.entity_names n where n.namespace_id = v_ns)
        or exists (select from loci_data.name_candidates n where n.namespace_id = v_ns)) then
        select array_agg(l.doc_id), array_agg(l.score), jsonb_agg(jsonb_build_object('path', l.path)) into linked_ids,
               linked_scores, linked_paths
        from loci_api.memories_sharing_names(p_namespace, p_query, p_seeds[1:20], null, p_filter, p_as_of,
                                             p_known_at, v_names, v_entities, v_memories) l;
    end if;
    took_ms := took_ms || (case when 'graph' = any (p_arms) then 1000 * extract(epoch from clock_timestamp() - v_at)
                           end)::real;
    select c.covered, c.terms, c.unknown, c.memories into covered, terms, unknown, memories
    from loci_internal.question_coverage(v_ns, p_query, p_seeds[1:20]) c;
    select array_agg(s.doc_id), array_agg(s.standing) into standing_ids, standings
    from loci_internal.hit_standings(v_ns, p_query, p_user, p_documents || near_ids, v_names, v_entities) s;
    if p_from is not null then
        select array_agg(g.doc_id), array_agg(g.days) into time_ids, time_gaps
        from loci_internal.days_from_period(v_ns, p_documents || near_ids, p_from, p_to) g;
    end if;
    return next;
end $$;
comment on function loci_api.expand_recall_hits(text, text, bigint[], bigint[], text[], jsonb, timestamptz,
                                                timestamptz, text, timestamptz, timestamptz) is
    'Surroundings of the best hits of a recall: neighbours in their sessions, hierarchy and links, memories that '
    'share rare names; how much of the question each says; one row of parallel arrays.';

-- How many days lie between a time and each of some memories? 0: it began to be true then, or was true then and is no
-- more; negative: before. A look-up by document number each.
create or replace function loci_internal.days_from_period(p_namespace_id integer, p_documents bigint[],
                                                          p_from timestamptz, p_to timestamptz)
returns table (doc_id bigint, days double precision)
language sql stable set search_path = ''
as $$
    select d.doc_id, case when m.valid_from < p_to and coalesce(m.valid_to, m.valid_from) >= p_from then 0
                          when m.valid_from < p_from then extract(epoch from m.valid_from - p_from) / 86400
                          else extract(epoch from m.valid_from - p_to) / 86400 end
    from (select distinct u.doc_id from unnest(p_documents) u(doc_id)) d
    cross join lateral (select o.valid_from, o.valid_to from loci_data.memories o
                        where o.namespace_id = p_namespace_id and o.doc_id = d.doc_id limit 1) m
    where isfinite(m.valid_from)
$$;
comment on function loci_internal.days_from_period(integer, bigint[], timestamptz, timestamptz) is
    'Days between a time and the beginning of memories.';
