-- Arms of a recall: one call for all, in one namespace or several.

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
               vector_scores double precision[],
               graph_ids bigint[], graph_scores double precision[], graph_paths jsonb,
               walk_ids bigint[], walk_scores double precision[], walk_paths jsonb, walk_timed_out boolean,
               entities jsonb, constraints json,
               took_ms real[], model_id smallint, waiting bigint, without_vector jsonb, question real[],
               vector_mean double precision)
language plpgsql stable security definer set search_path from current set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_at     timestamptz := clock_timestamp();  -- when the step began
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_query  real[] := p_embedding;
    v_depth  integer := loci_internal.setting_number(v_ns, 'depth');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
    v_named  uuid[];
    v_terms  loci_internal.question_terms := case when p_terms is null
        then loci_internal.weigh_terms(v_ns, p_query, p_words) else p_terms end;
begin
    if 'lexical' = any (p_arms) then
        select array_agg(s.doc_id), array_agg(s.score) into lexical_ids, lexical_scores
        from loci_internal.rank_text(v_ns, v_terms, v_filter, 2 * v_depth) s;
    end if;
    took_ms := took_ms || (case when 'lexical' = any (p_arms) then 1000 * extract(epoch from clock_timestamp() - v_at)
                           end)::real;
    v_at := clock_timestamp();
    model_id := (select m.id from loci_data.embedding_models m where m.active);
    if (p_embedding is not null or p_words is not null) and (p_model_id is null or p_model_id = model_id) then
        if p_words is not null then
            v_query := loci_internal.weigh_question(v_ns, model_id, v_terms, p_word_vectors)::real[];
        end if;
        select array_agg(s.doc_id), array_agg(s.score) into vector_ids, vector_scores
        from loci_internal.nearest_memories(v_ns, v_query, v_filter, p_filter = '{}' and p_known_at is null,
                                            v_depth) s;
        vector_mean := loci_internal.mean_similarity(v_ns, model_id, v_query::vector);
    else
        v_query := null;
    end if;
    if 'vector' = any (p_arms) and exists (
            select from loci_data.embedding_queue q
            where q.namespace_id = v_ns and q.model_id = recall_arms.model_id and q.error is null) then
        select w.waiting, w.newest into waiting, without_vector
        from loci_api.memories_without_vector(p_namespace, p_filter, p_as_of, p_known_at) w;
        question := case when waiting > 0 then v_query end;
    end if;
    took_ms := took_ms || (case when v_query is not null then 1000 * extract(epoch from clock_timestamp() - v_at)
                           end)::real;
    v_at := clock_timestamp();
    if p_known_at is not null or exists (select from loci_data.entity_names n where n.namespace_id = v_ns) then
        select jsonb_agg(to_jsonb(e) order by e.position, e.id) into entities
        from loci.match_entities(p_namespace, p_query, null, p_known_at) e;
        v_named := array(select n.id from jsonb_array_elements(entities) with ordinality u(e, nth)
                         cross join lateral (
                             select (u.e ->> 'id')::uuid as id, 1 as step
                             union
                             select loci_internal.surviving_entity_id(v_ns, (u.e ->> 'id')::uuid), 2
                             where p_known_at is not null) n
                         where n.id is not null group by n.id order by min(u.nth), min(n.step));
    end if;
    took_ms := took_ms || (1000 * extract(epoch from clock_timestamp() - v_at))::real;
    v_at := clock_timestamp();
    if 'graph' = any (p_arms) and cardinality(v_named) > 0 then
        select array_agg(s.doc_id), array_agg(s.score), jsonb_agg(s.path) filter (where p_explain) into graph_ids,
               graph_scores, graph_paths
        from loci_api.recall_graph_arm(p_namespace, p_query, null, p_filter, p_as_of, p_known_at, p_explain, v_named) s;
    end if;
    took_ms := took_ms || (case when 'graph' = any (p_arms) then 1000 * extract(epoch from clock_timestamp() - v_at)
                           end)::real;
    v_at := clock_timestamp();
    if exists (select from loci_data.aspects a where a.namespace_id = v_ns) then
        select w.doc_ids, w.scores, w.paths, w.timed_out, w.constraints into walk_ids, walk_scores, walk_paths,
               walk_timed_out, constraints
        from loci_api.recall_walk_arm(
            p_namespace, array(select (e ->> 'id')::uuid from jsonb_array_elements(entities) e
                               order by (e ->> 'mentions')::integer desc, e ->> 'id'),
            'walk' = any (p_arms), p_filter, p_as_of, p_known_at) w;
    end if;
    took_ms := took_ms || (case when 'walk' = any (p_arms) then 1000 * extract(epoch from clock_timestamp() - v_at)
                           end)::real;
    if p_as_of is not null then
        entities := (select jsonb_agg(u.e order by u.nth) from jsonb_array_elements(entities) with ordinality u(e, nth)
                     where exists (select from loci_internal.entities_at(v_ns, array[(u.e ->> 'id')::uuid], p_as_of,
                                                                         p_known_at)));
    end if;
    return next;
end $$;
comment on function loci_api.recall_arms(text, text, real[], text[], jsonb, timestamptz, timestamptz, boolean,
                                         smallint, text[], vector[], loci_internal.question_terms) is
    'Arms of a recall that start from the question: one row of parallel arrays, best first, null for an arm that did '
    'not take part or found nothing; entities named, and constraints; what each took; the active embedding model.';

-- First half of a recall over several namespaces: recall_arms in each of them, one row a namespace, in their order.
-- Each uses its own settings, statistics and language. Where a filter names an entity or a memory that a namespace does
-- not have, that namespace has nothing to give (missing says so); if none has it, that is the error. p_namespaces null:
-- all that the caller may read. Cost: that of recall_arms in each. Security invoker: the functions called check for
-- themselves. Errors: 42501, P0002, 22023, as recall_namespaces and recall_arms.
create or replace function loci_api.recall_arms_in_namespaces(
    p_namespaces text[], p_own text, p_query text, p_embedding real[], p_arms text[], p_filter jsonb default '{}',
    p_as_of timestamptz default null, p_known_at timestamptz default null, p_explain boolean default false,
    p_model_id smallint default null, p_words text[] default null, p_word_vectors vector[] default null)
returns table (namespace text, missing text,
               lexical_ids bigint[], lexical_scores double precision[], vector_ids bigint[],
               vector_scores double precision[],
               graph_ids bigint[], graph_scores double precision[], graph_paths jsonb,
               walk_ids bigint[], walk_scores double precision[], walk_paths jsonb, walk_timed_out boolean,
               entities jsonb, constraints json,
               took_ms real[], model_id smallint, waiting bigint, without_vector jsonb, question real[],
               vector_mean double precision)
language plpgsql stable set search_path from current
as $$
declare
    v_name    text;
    v_column  text;
    v_message text;
    v_missing text;  -- the first of them, if none has answered yet
    v_where   text;
    v_some    boolean := false;
begin
    for v_name in select s.namespace from loci_api.recall_namespaces(p_namespaces, p_own) s where s.searched loop
        begin
            return query
            select v_name, null::text, a.*
            from loci_api.recall_arms(v_name, p_query, p_embedding, p_arms, p_filter, p_as_of, p_known_at, p_explain,
                                      p_model_id, p_words, p_word_vectors) a;
            v_some := true;
        exception when no_data_found then
            get stacked diagnostics v_column = column_name, v_message = message_text;
            if v_column is null or v_column not like 'filters.%' then
                raise;
            end if;
            if v_missing is null then
                v_missing := v_message;
                v_where := v_column;
            end if;
            return query select v_name, v_message, null::bigint[], null::double precision[], null::bigint[],
                                null::double precision[],
                                null::bigint[], null::double precision[], null::jsonb, null::bigint[],
                                null::double precision[], null::jsonb,
                                false, null::jsonb, null::json, null::real[],
                                (select m.id from loci_data.embedding_models m where m.active), null::bigint,
                                null::jsonb, null::real[], null::double precision;
        end;
    end loop;
    if v_missing is not null and not v_some then
        raise no_data_found using message = v_missing || ' in any of these namespaces', column = v_where;
    end if;
end $$;
comment on function loci_api.recall_arms_in_namespaces(text[], text, text, real[], text[], jsonb, timestamptz,
                                                       timestamptz, boolean, smallint, text[], vector[]) is
    'Arms of a recall in each of several namespaces, one row of parallel arrays for each; missing: what a filter '
    'names and it does not have. Errors: 42501, P0002, 22023.';

-- Which namespaces does a recall search, and with what settings? Those named, in the order named, or with
-- null every one that the caller may read, by name; beside them the request's own (p_own; null: the caller's default
-- one), whose weights and k are those of the fusion; a nameless row with the defaults, if the caller may not
-- read that one. Whether the caller may read what is named is checked first, one by one. At most setting
-- recall_namespaces of the own namespace. Cost: some 30 µs a namespace. Security definer: reads grants. Errors: 42501,
-- P0002 (the first that the caller may not read), 22023 (namespaces: too many, or of several cells), LOCI1.
create or replace function loci_api.recall_namespaces(p_namespaces text[], p_own text default null)
returns table (namespace text, settings jsonb, searched boolean, own boolean)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_readable integer[] := loci.readable_namespaces();
    v_own      integer;
    v_ids      integer[] := '{}';
    v_id       integer;
    v_name     text;
    v_limit    integer;
begin
    select n.id into v_own from loci_data.namespaces n
    where n.name = coalesce(p_own, loci_internal.default_namespace())
      and n.id = any (v_readable);
    v_limit := coalesce(loci_internal.settings(v_own), loci.default_settings()) ->> 'recall_namespaces';
    if p_namespaces is null then
        v_ids := array(select n.id from loci_data.namespaces n where n.id = any (v_readable) order by n.name);
    else
        perform loci_internal.refuse_several_cells(p_namespaces, 'namespaces');
        foreach v_name in array p_namespaces[1:v_limit + 1] loop
            v_id := loci_internal.authorize(v_name, 'reader');
            continue when v_id = any (v_ids);
            v_ids := v_ids || v_id;
        end loop;
    end if;
    if greatest(cardinality(v_ids), cardinality(p_namespaces)) > v_limit then
        raise invalid_parameter_value using column = 'namespaces',
            message = format('namespaces must be at most %s (setting recall_namespaces), not %s', v_limit,
                             greatest(cardinality(v_ids), cardinality(p_namespaces))),
            hint = 'Name those that matter, or ask in several requests.';
    end if;
    return query
    select n.name, coalesce(loci_internal.settings(n.id), loci.default_settings()), u.place is not null,
           i.id is not distinct from v_own
    from unnest(case when v_own = any (v_ids) then v_ids else v_ids || v_own end) with ordinality i(id, nth)
    left join unnest(v_ids) with ordinality u(id, place) on u.id = i.id
    left join loci_data.namespaces n on n.id = i.id
    order by i.nth;
end $$;
comment on function loci_api.recall_namespaces(text[], text) is
    'Namespaces that a recall over several searches, in order, and the request''s own, with their settings. Errors: '
    '42501, P0002, 22023.';
