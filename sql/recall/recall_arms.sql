-- Arms of a recall: one call for all, and the vector arm of a second model.

-- First half of a recall: the arms that start from the question, in one statement: lexical, vector (where a vector is
-- given, or words with theirs, which weigh_question joins), graph, and walk; the entities that the question names, and
-- the constraints of these and the pinned ones, which no choice of arms leaves out. Both times apply to all: names,
-- aliases and merges are those known at p_known_at, and entities are those seen by p_as_of. The arms start from the
-- entities named then and from those that they were merged into since, which have their mentions. Arrays are parallel,
-- best first; ids are document numbers, which are short to send and quick to fuse. Paths only where p_explain. took_ms:
-- milliseconds for lexical, vector, names in the question, graph and walk with constraints, null for what did not take
-- part. p_model_id: the model that made the vectors. Where another one is active by now the vector takes no part;
-- model_id is the active one, so that the caller can embed anew. null: not known, it counts as the active one's.
-- waiting, without_vector: memories that wait for their vectors (see memories_without_vector), null for none, also
-- where the question has no vector either; question is the vector of the question then. vector_mean: the mean cosine of
-- the question with this namespace, null where no mean is kept. p_terms: as weigh_terms has them; null: it is asked.
-- Caller, settings and filter are resolved once, and arms that have nothing to find here are not asked (no names, no
-- aspects, nothing that waits: a probe each). The lexical arm goes twice as deep as the others, because hits of the
-- graph also have words of the question. Security definer; checks first.
create or replace function loci_api.recall_arms(
    p_namespace text, p_query text, p_embedding real[], p_arms text[], p_filter jsonb default '{}',
    p_as_of timestamptz default null, p_known_at timestamptz default null, p_explain boolean default false,
    p_model_id smallint default null, p_words text[] default null, p_word_vectors vector[] default null,
    p_terms loci_internal.question_terms default null)
returns table (lexical_ids bigint[], lexical_scores double precision[], vector_ids bigint[],
               vector_scores double precision[], graph_ids bigint[], graph_scores double precision[], graph_paths jsonb,
               walk_ids bigint[], walk_scores double precision[], walk_paths jsonb, walk_timed_out boolean,
               entities jsonb, constraints json, took_ms real[], model_id smallint, waiting bigint,
               without_vector jsonb, question real[], vector_mean double precision)
language plpgsql stable security definer set search_path from current set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_at     timestamptz[] := array[clock_timestamp()];  -- when the steps began
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_depth  integer := loci_internal.setting_number(v_ns, 'depth');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
    v_terms  loci_internal.question_terms := coalesce(p_terms, loci_internal.weigh_terms(v_ns, p_query, p_words));
    v_query  real[];
    v_named  uuid[];
    v_walked uuid[];
begin
    select array_agg(s.doc_id), array_agg(s.score) into lexical_ids, lexical_scores
    from loci_internal.rank_text(v_ns, v_terms, v_filter, 2 * v_depth) s where 'lexical' = any (p_arms);
    v_at := v_at || clock_timestamp();
    select v.* into vector_ids, vector_scores, vector_mean, model_id, v_query
    from loci_internal.recall_vector_arm(v_ns, p_embedding, p_model_id, p_words, p_word_vectors, v_terms, v_filter,
                                         p_filter = '{}' and p_known_at is null, v_depth) v;
    select w.waiting, w.newest, case when w.waiting > 0 then v_query end into waiting, without_vector, question
    from loci_api.memories_without_vector(p_namespace, p_filter, p_as_of, p_known_at) w
    where 'vector' = any (p_arms) and exists (
        select from loci_data.embedding_queue q
        where q.namespace_id = v_ns and q.model_id = recall_arms.model_id and q.error is null);
    v_at := v_at || clock_timestamp();
    select n.* into entities, v_named, v_walked
    from loci_internal.recall_entities(v_ns, p_namespace, p_query, p_as_of, p_known_at) n;
    v_at := v_at || clock_timestamp();
    select array_agg(s.doc_id), array_agg(s.score), jsonb_agg(s.path) filter (where p_explain)
    into graph_ids, graph_scores, graph_paths
    from loci_api.recall_graph_arm(p_namespace, p_query, null, p_filter, p_as_of, p_known_at, p_explain, v_named) s
    where 'graph' = any (p_arms) and cardinality(v_named) > 0;
    v_at := v_at || clock_timestamp();
    select w.* into walk_ids, walk_scores, walk_paths, constraints, walk_timed_out
    from loci_api.recall_walk_arm(p_namespace, v_walked, 'walk' = any (p_arms), p_filter, p_as_of, p_known_at) w
    where exists (select from loci_data.aspects a where a.namespace_id = v_ns);
    took_ms := loci_internal.milliseconds_between(v_at || clock_timestamp(), array[
        'lexical' = any (p_arms), v_query is not null, true, 'graph' = any (p_arms), 'walk' = any (p_arms)]);
    return next;
end $$;
comment on function loci_api.recall_arms(text, text, real[], text[], jsonb, timestamptz, timestamptz, boolean,
                                         smallint, text[], vector[], loci_internal.question_terms) is
    'Arms of a recall that start from the question: one row of parallel arrays, best first, null for an arm that did '
    'not take part or found nothing; entities named, and constraints; what each took; the active embedding model.';

-- The vector arm of recall_arms: the nearest memories by a vector of the question, or by its words with theirs; nothing
-- where p_model_id is not the active model. question: the vector that was asked.
create or replace function loci_internal.recall_vector_arm(
    p_namespace_id integer, p_embedding real[], p_model_id smallint, p_words text[], p_word_vectors vector[],
    p_terms loci_internal.question_terms, p_filter loci_internal.memory_filter, p_plain boolean, p_limit integer,
    out ids bigint[], out scores double precision[], out mean double precision, out model_id smallint,
    out question real[])
language plpgsql stable
as $$
begin
    model_id := (select m.id from loci_data.embedding_models m where m.active);
    if (p_embedding is not null or p_words is not null) and (p_model_id is null or p_model_id = model_id) then
        question := case when p_words is null then p_embedding else
            loci_internal.weigh_question(p_namespace_id, model_id, p_terms, p_word_vectors)::real[] end;
        select array_agg(s.doc_id), array_agg(s.score) into ids, scores
        from loci_internal.nearest_memories(p_namespace_id, question, p_filter, p_plain, p_limit) s;
        mean := loci_internal.mean_similarity(p_namespace_id, model_id, question::vector);
    end if;
end $$;
comment on function loci_internal.recall_vector_arm(
    integer, real[], smallint, text[], vector[], loci_internal.question_terms, loci_internal.memory_filter, boolean,
    integer) is
    'Nearest memories to a question, its vector, and the mean cosine of the namespace. Errors: 22023.';

-- Entities that a question names, as known at p_known_at and seen by p_as_of; ids from which the graph starts: those of
-- them that were named then, each before the one that it was merged into; and those that the walk starts from, the most
-- mentioned first. Nothing is asked where no entity has a name: one probe.
create or replace function loci_internal.recall_entities(
    p_namespace_id integer, p_namespace text, p_query text, p_as_of timestamptz, p_known_at timestamptz,
    out entities jsonb, out named uuid[], out walked uuid[])
language plpgsql stable
as $$
begin
    walked := '{}';
    if p_known_at is null and not exists (
            select from loci_data.entity_names n where n.namespace_id = p_namespace_id) then
        return;
    end if;
    select jsonb_agg(to_jsonb(e) order by e.position, e.id),
           coalesce(array_agg(e.id order by e.mentions desc, e.id), '{}')
    into entities, walked
    from loci.match_entities(p_namespace, p_query, null, p_known_at) e;
    named := array(select n.id from jsonb_array_elements(entities) with ordinality u(e, nth)
                   cross join lateral (
                       select (u.e ->> 'id')::uuid as id, 1 as step
                       union
                       select loci_internal.surviving_entity_id(p_namespace_id, (u.e ->> 'id')::uuid), 2
                       where p_known_at is not null) n
                   where n.id is not null group by n.id order by min(u.nth), min(n.step));
    if p_as_of is not null then
        entities := (
            select jsonb_agg(u.e order by u.nth) from jsonb_array_elements(entities) with ordinality u(e, nth)
            where exists (select from loci_internal.entities_at(p_namespace_id, array[(u.e ->> 'id')::uuid], p_as_of,
                                                                p_known_at)));
    end if;
end $$;
comment on function loci_internal.recall_entities(integer, text, text, timestamptz, timestamptz) is
    'Entities that a question names, and those that graph and walk start from.';

-- How long did the steps of a recall take? p_at: when each began, and the last ended; p_counted: whether it took part
-- (false: its time is null), null for what is no step of its own. It sets its own search_path: its callers have
-- different ones, and with each change it would be planned anew. Pure.
create or replace function loci_internal.milliseconds_between(p_at timestamptz[], p_counted boolean[]) returns real[]
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
    return array(select case when c.counted then 1000 * extract(epoch from p_at[c.nth + 1] - p_at[c.nth]) end::real
                 from unnest(p_counted) with ordinality c(counted, nth) where c.counted is not null order by c.nth);
end $$;
comment on function loci_internal.milliseconds_between(timestamptz[], boolean[]) is
    'Milliseconds of steps, null for those that did not take part.';

-- What does a second embedding model find? The nearest memories by a vector of it (or words with theirs, which
-- weigh_question joins), as recall_arms asks the active one: document numbers and cosines, best first, and the mean
-- cosine of the question with the namespace. missing: memories that have no vector of it yet, or were refused one. No
-- row, and it takes no part, where p_model_id is not the second model, not all was queued for it, or more than a
-- hundred memories or a tenth of the namespace lack a vector: then a recall is that of the active model alone. Asked
-- only where a second model is configured. Cost: that of nearest_memories, and a probe of each index of the queue.
-- Security definer: reads past the policies; checks first. Errors: 42501, P0002, 22023.
create or replace function loci_api.recall_second_arm(
    p_namespace text, p_model_id smallint, p_embedding real[], p_filter jsonb default '{}',
    p_as_of timestamptz default null, p_known_at timestamptz default null, p_words text[] default null,
    p_word_vectors vector[] default null)
returns table (ids bigint[], scores double precision[], mean double precision, missing bigint[], took_ms real)
language plpgsql stable security definer set search_path from current set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_at      timestamptz := clock_timestamp();
    v_ns      integer := loci_internal.authorize(p_namespace, 'reader');
    v_query   real[] := p_embedding;
    v_missing uuid[];
begin
    if not exists (select from loci_data.embedding_models m
                   where m.id = p_model_id and m.second and m.queued_at is not null) then
        return;
    end if;
    v_missing := array(
        (select q.memory_id from loci_data.embedding_queue q
         where q.namespace_id = v_ns and q.model_id = p_model_id and q.error is null and not q.has_vector limit 101)
        union all
        (select q.memory_id from loci_data.embedding_queue q
         where q.namespace_id = v_ns and q.model_id = p_model_id and q.error is not null and not q.has_vector
         limit 101));
    if cardinality(v_missing) > (
            select least(100, sum(c.documents) / 10) from loci_data.corpus_counts c where c.namespace_id = v_ns) then
        return;
    end if;
    if p_words is not null then
        v_query := loci_internal.weigh_question(
            v_ns, p_model_id, loci_internal.weigh_terms(v_ns, '', p_words), p_word_vectors)::real[];
    end if;
    select array_agg(s.doc_id), array_agg(s.score) into ids, scores
    from loci_internal.nearest_memories(
        v_ns, v_query, loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at),
        p_filter = '{}' and p_known_at is null, loci_internal.setting_number(v_ns, 'depth')::integer, p_model_id) s;
    mean := loci_internal.mean_similarity(v_ns, p_model_id, v_query::vector);
    missing := array(select m.doc_id from loci_data.memories m
                     where m.namespace_id = v_ns and m.id = any (v_missing) order by m.doc_id);
    took_ms := 1000 * extract(epoch from clock_timestamp() - v_at);
    return next;
end $$;
comment on function loci_api.recall_second_arm(text, smallint, real[], jsonb, timestamptz, timestamptz, text[],
                                               vector[]) is
    'Memories nearest to a question by the second embedding model, and those that have no vector of it yet; no row '
    'where too many have none. Errors: 42501, P0002, 22023.';
