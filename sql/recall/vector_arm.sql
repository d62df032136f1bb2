-- Vector arm of a recall: nearest memories, and those without a vector.

-- The work of similar_memories: cosine similarity to a vector of a model (null: the active one). Most are scanned
-- exactly: the nearest 4 × p_limit are checked, from the nearest on; where too few of them pass, filters come first.
-- Where hnsw_scan_limit says it is cheaper, HNSW (m = 24, ef_construction = 128, ef_search = 128 and more in
-- namespaces above 25,000: hnsw_candidates; no fewer than the session asks for; Malkov and Yashunin, 2018) with an
-- iterative scan within that budget comes before that: the function of the model (write_vector_search). p_plain: the
-- filter restricts nothing, and the past is not asked for. Its callers have checked the rights and read past the
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
        select e.* into v_ids, v_docs, v_scores
        from loci_internal.scan_vectors(p_namespace_id, v_query, p_filter, p_limit, v_model.id) e;
    end if;
    return query select u.id, u.doc_id, u.score from unnest(v_ids, v_docs, v_scores) u(id, doc_id, score);
end $$;
comment on function loci_internal.nearest_memories(integer, real[], loci_internal.memory_filter, boolean, integer,
                                                   smallint) is
    'Memories by cosine similarity to a vector of a model, nearest first. Errors: 22023.';

-- The exact scan of nearest_memories, best first: of the nearest 4 × p_limit those that pass the filter; where these
-- are too few, the nearest of all that pass.
create or replace function loci_internal.scan_vectors(
    p_namespace_id integer, p_query halfvec, p_filter loci_internal.memory_filter, p_limit integer, p_model_id smallint,
    out ids uuid[], out doc_ids bigint[], out scores double precision[])
language plpgsql stable
as $$
begin
    select array_agg(b.id), array_agg(b.doc_id), array_agg(1 - b.distance) into ids, doc_ids, scores
    from (select m.id, m.doc_id, n.distance
          from (select v.memory_id, v.embedding <=> p_query as distance
                from loci_data.memory_vectors v where v.namespace_id = p_namespace_id and v.model_id = p_model_id
                order by 2 limit 4 * p_limit) n
          cross join lateral (
              select o.id, o.doc_id from loci_data.memories o
              where o.namespace_id = p_namespace_id and o.id = n.memory_id
                and loci_internal.memory_is_visible(o, p_filter) limit 1) m
          order by n.distance limit p_limit) b;
    if coalesce(cardinality(ids), 0) < p_limit then
        with passed as materialized (
            select o.id, o.doc_id from loci_data.memories o
            where o.namespace_id = p_namespace_id and loci_internal.memory_is_visible(o, p_filter)
        )
        select array_agg(b.id), array_agg(b.doc_id), array_agg(1 - b.distance) into ids, doc_ids, scores
        from (select p.id, p.doc_id, v.embedding <=> p_query as distance
              from passed p
              join loci_data.memory_vectors v on v.namespace_id = p_namespace_id and v.memory_id = p.id
                   and v.model_id = p_model_id
              order by 3, 2 limit p_limit) b;
    end if;
end $$;
comment on function loci_internal.scan_vectors(integer, halfvec, loci_internal.memory_filter, integer, smallint) is
    'Memories that pass a filter by cosine similarity, nearest first, by an exact scan.';

-- How many neighbours may HNSW look at for p_limit of one namespace before an exact scan is cheaper? null: scan exactly
-- from the start. Sums the namespace's corpus_counts; the size of its partition is the planner's. See scan_limit.
create or replace function loci_internal.hnsw_scan_limit(p_namespace_id integer, p_limit integer) returns integer
language sql stable
as $$
    select loci_internal.scan_limit(n.size, p.size, p_limit)
    from (select coalesce(sum(c.documents), 0)::double precision as size
          from loci_data.corpus_counts c where c.namespace_id = p_namespace_id) n,
         (select coalesce(max(c.reltuples), 0) as size from pg_catalog.pg_class c
          where c.oid = (select v.tableoid from loci_data.memory_vectors v
                         where v.namespace_id = p_namespace_id limit 1)) p
$$;
comment on function loci_internal.hnsw_scan_limit(integer, integer) is
    'Neighbours that HNSW may visit for a limit in a namespace; null where an exact scan is cheaper.';

-- How many neighbours may HNSW look at for p_limit of p_size vectors, in a partition that holds p_partition? null: an
-- exact scan is cheaper. The first 128 neighbours of the graph cost as much as computing about 2,500 distances in a row
-- (measured: 4,000 take 2.5 ms exactly and 1.4 through HNSW, 9,900 take 6.2 and 1.8), and each further one as much as
-- about 100. The graph is shared by the namespaces of a hash partition, so p_limit of this one take p_limit ×
-- partition / namespace visits (measured: 5,000 of 57,000 take 27 ms through HNSW and 1.5 exactly; 50,000 of them 3
-- and 25). Pure.
create or replace function loci_internal.scan_limit(p_size double precision, p_partition double precision,
                                                    p_limit integer) returns integer
language sql immutable parallel safe
return case when p_size > 2500 and greatest(p_limit, 100) * greatest(p_size, p_partition)
                                   <= p_size * (128 + (p_size - 2500) / 100)
    then (128 + (p_size - 2500) / 100)::integer end;
comment on function loci_internal.scan_limit(double precision, double precision, integer) is
    'Neighbours that HNSW may visit; null where an exact scan is cheaper.';

-- Candidates that HNSW keeps while it looks (ef_search), for the neighbours that scan_limit allows: 128 up to 25,000
-- vectors, then with the power 0.45 of their number, at most 1,000, which pgvector allows. With 128 throughout, 0.96 of
-- the ten nearest were found among 100,000 vectors, and 0.90 among 500,000. Pure.
create or replace function loci_internal.hnsw_candidates(p_budget integer) returns integer
language sql immutable parallel safe
return least(1000, greatest(128, (128 * power(greatest(p_budget - 103, 0) / 250.0, 0.45))::integer));
comment on function loci_internal.hnsw_candidates(integer) is
    'ef_search for a number of neighbours that HNSW may visit.';

-- Which memories that a recall may show wait for their vector of the active model? The newest that pass the filter, up
-- to the setting recall_waiting with what is to be embedded of them (as claim_memories_to_embed says), the others of
-- the newest 100 without: JSON array of {doc_id, text, speaker, said}. waiting: how many there are, up to 1,000. No row
-- where none waits: one probe of the index embedding_queue_waiting. That one waits for a new vector and has its old one
-- until then, its row in the queue says: asking the vectors of 1,000 cost 3 ms. Security definer: reads past the
-- policies; checks first. Errors: 42501, P0002.
create or replace function loci_api.memories_without_vector(
    p_namespace text, p_filter jsonb default '{}', p_as_of timestamptz default null,
    p_known_at timestamptz default null)
returns table (waiting bigint, newest jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_model  smallint := (select m.id from loci_data.embedding_models m where m.active);
    v_filter loci_internal.memory_filter;
    v_most   integer;
begin
    if not exists (select from loci_data.embedding_queue q
                   where q.namespace_id = v_ns and q.model_id = v_model and q.error is null) then
        return;
    end if;
    v_filter := loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
    v_most := loci_internal.setting_number(v_ns, 'recall_waiting');
    return query
    with queued as materialized (
        select q.memory_id, q.enqueued_at, q.has_vector from loci_data.embedding_queue q
        where q.namespace_id = v_ns and q.model_id = v_model and q.error is null
        order by q.enqueued_at desc, q.memory_id desc limit 1000
    ), missing as materialized (  -- one that waits for a new vector has its old one until then
        select q.memory_id, q.enqueued_at from queued q where not q.has_vector
    ), shown as (
        select m.*, row_number() over (order by n.enqueued_at desc, n.memory_id desc) as place
        from (select s.memory_id, s.enqueued_at from missing s
              order by s.enqueued_at desc, s.memory_id desc limit 100) n
        cross join lateral (select o as memory, o.doc_id, o.source, o.session_id, o.content from loci_data.memories o
                            where o.namespace_id = v_ns and o.id = n.memory_id
                              and loci_internal.memory_is_visible(o, v_filter) limit 1) m
    )
    select (select count(*) from missing), coalesce(jsonb_agg(case when s.place <= v_most then jsonb_build_object(
               'doc_id', s.doc_id, 'text', left(loci_internal.memory_embedding_text(s.memory), 30000),
               'speaker', s.source, 'said', case when s.session_id is not null then left(s.content, 30000) end)
               else jsonb_build_object('doc_id', s.doc_id) end order by s.place), '[]')
    from shown s having (select count(*) from missing) > 0;
end $$;
comment on function loci_api.memories_without_vector(text, jsonb, timestamptz, timestamptz) is
    'Memories that wait for their vector of the active model: how many, and the newest that pass a filter. Errors: '
    '42501, P0002.';

-- Which memories mean this? Cosine similarity to a vector of the active model (nearest_memories). Security definer;
-- checks first.
create or replace function loci.similar_memories(
    p_namespace text, p_embedding real[], p_limit integer default null, p_filter jsonb default '{}',
    p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (id uuid, doc_id bigint, score double precision)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
    v_limit  integer := coalesce(p_limit, (loci_internal.settings(v_ns) ->> 'depth')::integer);
begin
    return query
    select n.id, n.doc_id, n.score
    from loci_internal.nearest_memories(v_ns, p_embedding, v_filter, p_filter = '{}' and p_known_at is null,
                                        v_limit) n;
end $$;
comment on function loci.similar_memories(text, real[], integer, jsonb, timestamptz, timestamptz) is
    'Memories by cosine similarity to a vector of the active model, nearest first. Filters, as_of and known_at apply '
    'before the limit. Errors: 42501, P0002, 22023.';
