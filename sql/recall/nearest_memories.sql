-- The work of similar_memories: cosine similarity to a vector of a model (null: the active one). Most are scanned
-- exactly: the nearest 4 × p_limit are checked, from the nearest on; where too few of them pass, filters come first.
-- Where hnsw_scan_limit says it is cheaper, HNSW (m = 24, ef_construction = 128, ef_search = 128 and more in
-- namespaces above 12,500: hnsw_candidates; no fewer than the session asks for; Malkov and Yashunin, 2018) with an
-- iterative scan within that budget comes before that: the function of the model (write_vector_search). p_plain: the
-- filter restricts nothing, and the past is not asked for. Who calls it has checked the caller, and reads past the
-- policies. Errors: 22023.
create or replace function loci_internal.nearest_memories(
    p_namespace_id integer, p_embedding real[], p_filter loci_internal.memory_filter, p_plain boolean,
    p_limit integer, p_model_id smallint default null)
returns table (id uuid, doc_id bigint, score double precision)
language plpgsql stable set search_path from current set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_seqscan = off
as $$
declare
    v_model  loci_data.embedding_models;
    v_query  halfvec;
    v_ids    uuid[];
    v_docs   bigint[];
    v_scores double precision[];
    v_budget integer;
begin
    select * into v_model from loci_data.embedding_models m where case when p_model_id is null then m.active
        else m.id = p_model_id end;
    if v_model.id is null then
        return;
    elsif cardinality(p_embedding) is distinct from v_model.dimensions then
        raise invalid_parameter_value using column = 'embedding',
            message = format('embedding has %s dimensions; the model %s has %s', cardinality(p_embedding),
                             v_model.name, v_model.dimensions);
    end if;
    v_query := p_embedding::halfvec;
    v_budget := loci_internal.hnsw_scan_limit(p_namespace_id, p_limit);
    if v_budget is not null then
        perform set_config('hnsw.max_scan_tuples', v_budget::text, true),
                set_config('hnsw.ef_search', greatest(current_setting('hnsw.ef_search', true)::integer,
                                                      loci_internal.hnsw_candidates(v_budget))::text, true);
        execute format('select * from loci_internal.nearest_vectors_%s($1, $2, $3, $4, $5)', v_model.id)
        into v_ids, v_docs, v_scores using p_namespace_id, v_query, p_filter, p_plain, p_limit;
    end if;
    if coalesce(cardinality(v_ids), 0) < p_limit then
        select array_agg(b.id), array_agg(b.doc_id), array_agg(1 - b.distance) into v_ids, v_docs, v_scores
        from (select m.id, m.doc_id, n.distance
              from (select v.memory_id, v.embedding <=> v_query as distance
                    from loci_data.memory_vectors v where v.namespace_id = p_namespace_id and v.model_id = v_model.id
                    order by 2 limit 4 * p_limit) n
              cross join lateral (
                  select o.id, o.doc_id from loci_data.memories o
                  where o.namespace_id = p_namespace_id and o.id = n.memory_id
                    and loci_internal.memory_is_visible(o, p_filter) limit 1) m
              order by n.distance limit p_limit) b;
    end if;
    if coalesce(cardinality(v_ids), 0) < p_limit then
        with passed as materialized (
            select o.id, o.doc_id from loci_data.memories o
            where o.namespace_id = p_namespace_id and loci_internal.memory_is_visible(o, p_filter)
        )
        select array_agg(b.id), array_agg(b.doc_id), array_agg(1 - b.distance) into v_ids, v_docs, v_scores
        from (select p.id, p.doc_id, v.embedding <=> v_query as distance
              from passed p
              join loci_data.memory_vectors v on v.namespace_id = p_namespace_id and v.memory_id = p.id
                   and v.model_id = v_model.id
              order by 3, 2 limit p_limit) b;
    end if;
    return query select u.id, u.doc_id, u.score from unnest(v_ids, v_docs, v_scores) u(id, doc_id, score);
end $$;
comment on function loci_internal.nearest_memories(integer, real[], loci_internal.memory_filter, boolean, integer,
                                                   smallint) is
    'Memories by cosine similarity to a vector of a model, nearest first. Errors: 22023.';
