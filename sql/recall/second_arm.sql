-- The arm of the second model.

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
