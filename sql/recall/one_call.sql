-- A whole recall in one call (arms, fusion, surroundings, memories), and the memories of a recall in steps.

-- What a recall finds in one namespace, from the question to the memories: recall_arms, fuse_arms, expand_recall_hits,
-- fuse_hits, get_recall_results. One row a hit, best first, and at least one; the first says in answer what belongs to
-- the whole: entities, constraints, how long arms and surroundings took, and the evidence of how likely they answer. A
-- null answer: this recall is none of the common ones (is_common_recall), and service/recall/ranking.py does it in
-- steps, by the same rules; tests compare both. The first p_k have their memory, the first p_statements what
-- short_statements says of them. p_weights: those that the question states. p_asked: {focus: weight of the embedding
-- model, said: it asks what somebody said, you: it asks what the assistant said, days: length of the time that it asks
-- about (p_from to p_to), alone: and it asks of nothing else}. Security definer; checks first. Errors: 42501, P0002,
-- 22023.
create or replace function loci_api.recall_in_one_call(
    p_namespace text, p_query text, p_words text[], p_word_vectors vector[], p_model_id smallint, p_arms text[],
    p_filter jsonb, p_as_of timestamptz, p_known_at timestamptz, p_weights jsonb, p_k integer, p_statements integer,
    p_user text, p_from timestamptz, p_to timestamptz, p_asked jsonb)
returns table (answer json, doc_id bigint, score double precision, factor double precision, standing text,
               memory loci.memory_record, contradicts uuid[], statement text, earlier text[], since timestamptz,
               stated_at timestamptz, category text)
language plpgsql stable security definer set search_path from current set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'reader');
    v_settings jsonb := loci_internal.settings(v_ns);
    v_weights  jsonb;
    v_terms    loci_internal.question_terms;
    v_arms     record;
    v_first    record;
    v_around   record;
    v_best     record;
begin
    if loci_internal.is_common_recall(v_ns, v_settings, p_arms, p_model_id) is not true then
        return next;
        return;
    end if;
    v_weights := loci_internal.arm_weights(v_settings -> 'weights', (p_asked ->> 'focus')::double precision, p_weights);
    v_terms := loci_internal.weigh_terms(v_ns, p_query, p_words);
    v_arms := loci_api.recall_arms(p_namespace, p_query, null, p_arms, p_filter, p_as_of, p_known_at, false, p_model_id,
                                   p_words, p_word_vectors, v_terms);
    v_first := loci_internal.fuse_arms(v_weights, v_arms);
    select * into v_around
    from loci_api.expand_recall_hits(p_namespace, p_query, v_first.doc_ids[:100], v_first.doc_ids[:20], p_arms,
                                     p_filter, p_as_of, p_known_at, p_user, p_from, p_to, v_terms)
    where v_first.doc_ids is not null;
    v_best := loci_internal.rank_hits(v_weights, v_settings || p_asked, v_first, v_around, greatest(p_k, p_statements));
    return query
    select case when b.nth is not distinct from 1 or b.nth is null
                then loci_internal.recall_answer(v_arms, v_first, v_around, v_best.speakers) end,
           b.doc_id, b.score, coalesce(b.factor, 1), b.standing, m.memory, m.contradicts, s.content, s.earlier,
           s.valid_from, s.recorded_at, s.category
    from (select 1) one(row)
    left join unnest(v_best.doc_ids, v_best.scores, v_best.factors, v_best.standings)
              with ordinality b(doc_id, score, factor, standing, nth) on true
    left join loci_api.get_recall_results(p_namespace, v_best.doc_ids[:p_k], p_as_of, p_known_at) m
              on (m.memory).cursor = b.doc_id
    left join lateral (  -- nothing is called where none are asked for
        select t.* from loci_api.short_statements(p_namespace, v_best.doc_ids[:p_statements], p_known_at) t
        where p_statements > 0 offset 0) s on s.doc_id = b.doc_id
    order by b.nth;
end $$;
comment on function loci_api.recall_in_one_call(
    text, text, text[], vector[], smallint, text[], jsonb, timestamptz, timestamptz, jsonb, integer, integer, text,
    timestamptz, timestamptz, jsonb) is
    'A common recall in one namespace: its hits with score and memory, and what belongs to the whole answer. Errors: '
    '42501, P0002, 22023.';

-- Is a recall one that recall_in_one_call does? Its arms are added, its log is off, and its vectors are those of the
-- active model, which no memory waits for. Two probes.
create or replace function loci_internal.is_common_recall(p_namespace_id integer, p_settings jsonb, p_arms text[],
                                                          p_model_id smallint) returns boolean
language sql stable
as $$
    select p_settings ->> 'fusion' = 'linear' and p_settings ->> 'recall_log' = 'false'
           and ('vector' <> all (p_arms)
                or p_model_id = (select m.id from loci_data.embedding_models m where m.active)
                   and not exists (select from loci_data.embedding_queue q
                                   where q.namespace_id = p_namespace_id and q.model_id = p_model_id
                                     and q.error is null))
$$;
comment on function loci_internal.is_common_recall(integer, jsonb, text[], smallint) is
    'Whether a recall can be done in one call.';

-- Weights of the arms: those of the settings, that of the vector arm times the weight of the model that asks, and those
-- that a question states. Pure.
create or replace function loci_internal.arm_weights(p_weights jsonb, p_focus double precision, p_stated jsonb)
returns jsonb
language sql immutable parallel safe
return p_weights || jsonb_build_object('vector', coalesce((p_weights ->> 'vector')::double precision, 1) * p_focus)
       || p_stated;
comment on function loci_internal.arm_weights(jsonb, double precision, jsonb) is
    'Weights of the arms of one recall.';

-- What belongs to a whole recall, and to none of its hits: see recall_in_one_call. p_arms: a row of recall_arms;
-- p_first, p_around: as rank_hits has them.
create or replace function loci_internal.recall_answer(p_arms record, p_first record, p_around record,
                                                       p_speakers text[])
returns json
language plpgsql immutable
as $$
declare
    v_evidence json;
begin
    if p_first.doc_ids is not null then
        v_evidence := to_json(loci_internal.recall_evidence(
            p_first.doc_ids[:20], p_around.covered, p_around.near_ids, p_around.near_sources, p_around.standing_ids,
            p_around.standings, p_speakers));
    end if;
    return json_build_object(
        'entities', p_arms.entities, 'constraints', p_arms.constraints, 'late', p_arms.walk_timed_out,
        'arms_ms', p_arms.took_ms, 'around_ms', p_around.took_ms, 'evidence', v_evidence,
        'nearest', p_arms.vector_scores[1], 'mean', p_arms.vector_mean, 'terms', p_around.terms,
        'unknown', p_around.unknown, 'memories', p_around.memories);
end $$;
comment on function loci_internal.recall_answer(record, record, record, text[]) is
    'What belongs to a whole recall: entities, constraints, times and evidence.';

-- An arm's part in the score of each of its hits, which come best first: their scores over the best one, times the
-- arm's weight. Inlines.
create or replace function loci_internal.arm_parts(p_doc_ids bigint[], p_scores double precision[],
                                                   p_weight double precision)
returns table (doc_id bigint, part double precision)
language sql immutable parallel safe
as $$
    select u.doc_id, case when p_scores[1] > 0 then u.score / p_scores[1] else 0 end * p_weight
    from unnest(p_doc_ids, p_scores) u(doc_id, score)
$$;
comment on function loci_internal.arm_parts(bigint[], double precision[], double precision) is
    'Parts of an arm in the scores of its hits: 0 to its weight.';

-- Hits of the arms that start from the question, best first, with the sum of the arms' parts in their scores. named: of
-- that, the part of the graph, which says that a hit has to do with whom the question names. Of the arm by meaning it
-- counts how far a cosine stands above the mean of the namespace, over the largest such distance; the mean counts half
-- beside five hits, and the lowest cosine stands for one that is not known. p_weights: as settings have them; an arm
-- that has none weighs 1; p_arms: a row of recall_arms. Pure.
create or replace function loci_internal.fuse_arms(p_weights jsonb, p_arms record, out doc_ids bigint[],
                                                   out scores double precision[], out named double precision[])
language plpgsql immutable parallel safe set search_path from current set plan_cache_mode = force_generic_plan
as $$
declare
    v_lexical constant double precision := coalesce((p_weights ->> 'lexical')::double precision, 1);
    v_vector  constant double precision := coalesce((p_weights ->> 'vector')::double precision, 1);
    v_graph   constant double precision := coalesce((p_weights ->> 'graph')::double precision, 1);
    v_walk    constant double precision := coalesce((p_weights ->> 'walk')::double precision, 1);
    v_size    constant double precision := cardinality(p_arms.vector_ids);
    v_mean    constant double precision := coalesce(p_arms.vector_mean, p_arms.vector_scores[v_size::integer])
                                           * v_size * v_size / (v_size * v_size + 25);
    v_largest constant double precision := p_arms.vector_scores[1] - v_mean;
begin
    select array_agg(f.doc_id), array_agg(f.score), array_agg(f.named) into doc_ids, scores, named
    from (select p.doc_id, sum(p.part) as score, sum(p.named) as named
          from (select l.doc_id, l.part, 0::double precision as named
                from loci_internal.arm_parts(p_arms.lexical_ids, p_arms.lexical_scores, v_lexical) l
                union all
                select v.doc_id, case when v_largest > 0 then greatest(0, v.score - v_mean) / v_largest else 1 end
                                 * v_vector, 0
                from unnest(p_arms.vector_ids, p_arms.vector_scores) v(doc_id, score)
                union all
                select g.doc_id, g.part, g.part
                from loci_internal.arm_parts(p_arms.graph_ids, p_arms.graph_scores, v_graph) g
                union all
                select w.doc_id, w.part, 0
                from loci_internal.arm_parts(p_arms.walk_ids, p_arms.walk_scores, v_walk) w) p
          group by p.doc_id order by 2 desc, 1) f;
end $$;
comment on function loci_internal.fuse_arms(jsonb, record) is
    'Hits of the arms of a recall, best first, with their scores.';

-- Memories by document number, as valid and believed at two times, in the order asked: the last step of a recall. One
-- index look-up each.
create or replace function loci_api.get_recalled_memories(
    p_namespace text, p_documents bigint[], p_as_of timestamptz default null, p_known_at timestamptz default null)
returns setof loci.memory_record
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
    v_at timestamptz := coalesce(p_as_of, clock_timestamp());
begin
    return query
    select (loci.memory_record(b, v_at, p.parent_id)).*
    from unnest(p_documents) with ordinality i(doc_id, place)
    cross join lateral (select o.* from loci_data.memories o where o.namespace_id = v_ns
                        and o.doc_id = i.doc_id limit 1) m
    cross join lateral loci_internal.memory_as_believed(m, p_known_at) b
    left join lateral loci_internal.parent_of(b, v_at, p_known_at) p on true
    order by i.place;
end $$;
comment on function loci_api.get_recalled_memories(text, bigint[], timestamptz, timestamptz) is
    'Memories by document number, in the order asked. Errors: 42501, P0002.';

-- The memories of a recall by document number, as get_recalled_memories has them, and which current memories each may
-- contradict: pairs of which nobody has said yet which holds; null where there are none, and of the past. One look-up
-- each; those of pairs are free where the namespace has none.
create or replace function loci_api.get_recall_results(
    p_namespace text, p_documents bigint[], p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (memory loci.memory_record, contradicts uuid[])
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'reader');
    v_at    timestamptz := coalesce(p_as_of, clock_timestamp());
    v_doubt bigint[] := case when p_as_of is null and p_known_at is null then p_documents else '{}' end;
begin
    return query
    select loci.memory_record(b, v_at, p.parent_id), c.others
    from unnest(p_documents) with ordinality i(doc_id, place)
    cross join lateral (select o.* from loci_data.memories o where o.namespace_id = v_ns
                        and o.doc_id = i.doc_id limit 1) m
    cross join lateral loci_internal.memory_as_believed(m, p_known_at) b
    left join lateral loci_internal.parent_of(b, v_at, p_known_at) p on true
    left join (select d.doc_id, array_agg(distinct d.other_id order by d.other_id) as others
               from loci_internal.open_pairs_of(v_ns, v_doubt) d group by d.doc_id) c on c.doc_id = i.doc_id
    order by i.place;
end $$;
comment on function loci_api.get_recall_results(text, bigint[], timestamptz, timestamptz) is
    'Memories of a recall by document number, in the order asked, and what each may contradict. Errors: 42501, P0002.';
