-- Which memories mean this? Cosine similarity to a vector of the active model. Most namespaces are scanned exactly: the
-- nearest 4 × p_limit are checked, from the nearest on; where too few of them pass, filters come first. Where
-- hnsw_scan_limit says it is cheaper, HNSW (m = 24, ef_construction = 128, ef_search = 128; Malkov and Yashunin, 2018)
-- with
-- an iterative scan within that budget comes before that. The HNSW statement is planned on every call: it names the
-- model and its dimensions, as the partial index does. Without sorting it has one plan, whatever the statistics: the
-- index in order, each memory looked up as it comes. Security definer; checks first.
create or replace function loci.similar_memories(
    p_namespace text, p_embedding real[], p_limit integer default null, p_filter jsonb default '{}',
    p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (id uuid, doc_id bigint, score double precision)
language plpgsql stable security definer set search_path from current set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
    v_limit  integer := coalesce(p_limit, (loci_internal.settings(v_ns) ->> 'depth')::integer);
    v_model  loci_data.embedding_models;
    v_query  halfvec;
    v_ids    uuid[];
    v_docs   bigint[];
    v_scores double precision[];
    v_budget integer;
begin
    select * into v_model from loci_data.embedding_models where active;
    if v_model.id is null then
        return;
    elsif cardinality(p_embedding) is distinct from v_model.dimensions then
        raise invalid_parameter_value using column = 'embedding',
            message = format('embedding has %s dimensions; the model %s has %s', cardinality(p_embedding),
                             v_model.name, v_model.dimensions);
    end if;
    v_query := p_embedding::halfvec;
    v_budget := loci_internal.hnsw_scan_limit(v_ns, v_limit);
    if v_budget is not null then
        perform set_config('hnsw.max_scan_tuples', v_budget::text, true);
        execute format($sql$
            select array_agg(b.id), array_agg(b.doc_id), array_agg(1 - b.distance)
            from (select m.id, m.doc_id, n.distance
                  from (select v.memory_id, v.embedding::halfvec(%1$s) <=> $1::halfvec(%1$s) as distance
                        from loci_data.memory_vectors v where v.namespace_id = %2$s and v.model_id = %3$s
                        order by v.embedding::halfvec(%1$s) <=> $1::halfvec(%1$s)) n
                  cross join lateral (
                      select o.id, o.doc_id from loci_data.memories o
                      where o.namespace_id = %2$s and o.id = n.memory_id
                        and %4$s limit 1) m
                  order by n.distance limit $3) b
            $sql$, v_model.dimensions, v_ns, v_model.id,
            case when p_filter = '{}' and p_known_at is null  -- planning what is not asked took 0.6 ms
                 then $sql$o.status = 'active' and o.valid_from <= ($2).as_of
                     and (o.valid_to is null or o.valid_to > ($2).as_of)$sql$
                 else 'loci_internal.memory_is_visible(o, $2)' end)
        into v_ids, v_docs, v_scores using v_query, v_filter, v_limit;
    end if;
    if coalesce(cardinality(v_ids), 0) < v_limit then
        select array_agg(b.id), array_agg(b.doc_id), array_agg(1 - b.distance) into v_ids, v_docs, v_scores
        from (select m.id, m.doc_id, n.distance
              from (select v.memory_id, v.embedding <=> v_query as distance
                    from loci_data.memory_vectors v where v.namespace_id = v_ns and v.model_id = v_model.id
                    order by 2 limit 4 * v_limit) n
              cross join lateral (
                  select o.id, o.doc_id from loci_data.memories o
                  where o.namespace_id = v_ns and o.id = n.memory_id
                    and loci_internal.memory_is_visible(o, v_filter) limit 1) m
              order by n.distance limit v_limit) b;
    end if;
    if coalesce(cardinality(v_ids), 0) < v_limit then
        with passed as materialized (
            select o.id, o.doc_id from loci_data.memories o
            where o.namespace_id = v_ns and loci_internal.memory_is_visible(o, v_filter)
        )
        select array_agg(b.id), array_agg(b.doc_id), array_agg(1 - b.distance) into v_ids, v_docs, v_scores
        from (select p.id, p.doc_id, v.embedding <=> v_query as distance
              from passed p
              join loci_data.memory_vectors v on v.namespace_id = v_ns and v.memory_id = p.id
                   and v.model_id = v_model.id
              order by 3, 2 limit v_limit) b;
    end if;
    return query select u.id, u.doc_id, u.score from unnest(v_ids, v_docs, v_scores) u(id, doc_id, score);
end $$;
comment on function loci.similar_memories(text, real[], integer, jsonb, timestamptz, timestamptz) is
    'Memories by cosine similarity to a vector of the active model, nearest first. Filters, as_of and known_at apply '
    'before the limit. Errors: 42501, P0002, 22023.';
