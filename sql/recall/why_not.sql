-- Why a memory is not in an answer.

-- Why might a recall miss this memory? p_memory: an id; or the name of a lineage: its version of that moment, else its
-- newest. checks: status, both times and each filter, with what was asked for, what the memory has, and whether it
-- passes; as it was believed at p_known_at. covered: the share of the question's terms that it has, by their rarity.
-- similarity: the cosine of its vector with the question's, null where either is missing; vector: 'stored', 'waits',
-- the reason of the provider that refused it, or null where there is no model. named: how many entities the question
-- names; mentioned: the names of those that it mentions. instead: another version of its lineage that passes all. A
-- look-up by primary key each, and the blocks of the question's terms. Security definer; checks first. Errors: 42501,
-- P0002, 22023.
create or replace function loci_api.examine_memory(
    p_namespace text, p_memory text, p_query text, p_embedding real[], p_filter jsonb default '{}',
    p_as_of timestamptz default null, p_known_at timestamptz default null, p_words text[] default null,
    p_word_vectors vector[] default null)
returns table (id uuid, doc_id bigint, lineage text, content text, checks jsonb, covered real,
               similarity double precision, vector text, named integer, mentioned text[], instead uuid)
language plpgsql stable security definer set search_path from current set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
    v_now    loci_data.memories;
    v_then   loci_data.memories;
    v_model  smallint := (select m.id from loci_data.embedding_models m where m.active);
    v_query  vector;
    v_terms  loci_internal.question_terms;
begin
    v_now := loci_internal.memory_to_examine(v_ns, p_memory, v_filter);
    v_then := loci_internal.memory_as_believed(v_now, p_known_at);
    id := v_now.id;
    doc_id := v_now.doc_id;
    lineage := v_now.lineage;
    content := v_now.content;
    checks := loci_internal.time_checks(v_now.recorded_at, v_then, v_filter.as_of, p_known_at)
              || loci_internal.filter_checks(v_ns, v_then, p_filter, p_as_of, p_known_at);
    v_terms := loci_internal.weigh_terms(v_ns, p_query, p_words);
    covered := (loci_internal.question_coverage(v_ns, v_terms, array[v_now.doc_id]))[1];
    v_query := case when p_words is null then p_embedding::vector
                    else loci_internal.weigh_question(v_ns, v_model, v_terms, p_word_vectors) end;
    select case when v_query is not null and vector_dims(v_query) = vector_dims(v.embedding)
                then 1 - (v.embedding <=> v_query::halfvec) end, 'stored'
    into similarity, vector
    from loci_data.memory_vectors v where v.namespace_id = v_ns and v.memory_id = v_now.id and v.model_id = v_model;
    if vector is null and v_model is not null then
        vector := coalesce((select q.error from loci_data.embedding_queue q
                            where q.namespace_id = v_ns and q.memory_id = v_now.id and q.model_id = v_model), 'waits');
    end if;
    select count(*), array_agg(e.name order by e.position, e.id) filter (where exists (
               select from loci_data.memory_mentions t
               where t.namespace_id = v_ns and t.memory_id = v_now.id and t.entity_id = e.id))
    into named, mentioned
    from loci.match_entities(p_namespace, p_query, p_as_of, p_known_at) e;
    select o.id into instead from loci_data.memories o
    where o.namespace_id = v_ns and o.lineage_id = v_now.lineage_id and o.id <> v_now.id
      and loci_internal.memory_is_visible(o, v_filter)
    order by o.valid_from desc, o.id limit 1;
    return next;
end $$;
comment on function loci_api.examine_memory(text, text, text, real[], jsonb, timestamptz, timestamptz, text[],
                                            vector[]) is
    'Status, times and filters of one memory as a recall would see them: whether it passes each, and what it '
    'shares with the question. Errors: 42501, P0002, 22023.';

-- The memory of an id; or of the name of a lineage the version that a filter shows, else the newest. Errors: P0002.
create or replace function loci_internal.memory_to_examine(p_namespace_id integer, p_memory text,
                                                           p_filter loci_internal.memory_filter)
returns loci_data.memories
language plpgsql stable
as $$
declare
    v_id    uuid := case when pg_input_is_valid(p_memory, 'uuid') then p_memory end;
    v_found loci_data.memories;
begin
    select m.* into v_found
    from (select o.* from loci_data.memories o where o.namespace_id = p_namespace_id and o.id = v_id
          union all
          select o.* from loci_data.memories o where o.namespace_id = p_namespace_id and o.lineage = p_memory) m
    order by loci_internal.memory_is_visible(m, p_filter) desc, m.version desc nulls last, m.id limit 1;
    if not found then
        raise no_data_found using message = format('memory %s does not exist', p_memory), column = 'memory';
    end if;
    return v_found;
end $$;
comment on function loci_internal.memory_to_examine(integer, text, loci_internal.memory_filter) is
    'A memory by its id or by the name of its lineage. Errors: P0002.';

-- Status and both times of a memory, as it was believed at p_known_at, as filter_checks has filters.
create or replace function loci_internal.time_checks(p_recorded_at timestamptz, p_memory loci_data.memories,
                                                     p_as_of timestamptz, p_known_at timestamptz)
returns jsonb
language sql stable
as $$
    select jsonb_build_array(
        jsonb_build_object('name', 'known_at', 'asked', coalesce(p_known_at, clock_timestamp()),
                           'has', p_recorded_at, 'passes', p_memory.id is not null),
        jsonb_build_object('name', 'status', 'asked', 'active', 'has', p_memory.status,
                           'passes', coalesce(p_memory.status = 'active', false)),
        jsonb_build_object('name', 'as_of', 'asked', p_as_of,
                           'has', jsonb_build_array(p_memory.valid_from, p_memory.valid_to),
                           'passes', coalesce(loci.holds_at(p_memory.valid_from, p_memory.valid_to, null, null,
                                                             p_as_of, null), false)))
$$;
comment on function loci_internal.time_checks(timestamptz, loci_data.memories, timestamptz, timestamptz) is
    'Status and times of a memory, and whether it passes them.';

-- Each filter by itself: what was asked for, what the memory has, and whether it passes.
create or replace function loci_internal.filter_checks(p_namespace_id integer, p_memory loci_data.memories,
                                                       p_filter jsonb, p_as_of timestamptz, p_known_at timestamptz)
returns jsonb
language sql stable set search_path from current
as $$
    select coalesce(jsonb_agg(jsonb_build_object(
        'name', f.key, 'asked', f.value,
        'has', to_jsonb(p_memory) -> (case f.key when 'tags_all' then 'tags' when 'layers' then 'layer'
                                      when 'valid_after' then 'valid_from' when 'valid_before' then 'valid_from'
                                      when 'recorded_after' then 'recorded_at' when 'recorded_before' then 'recorded_at'
                                      when 'min_importance' then 'importance' when 'min_confidence' then 'confidence'
                                      else f.key end),
        'passes', coalesce(loci_internal.memory_matches(p_memory, loci_internal.resolve_filter(
            p_namespace_id, jsonb_build_object(f.key, f.value), p_as_of, p_known_at)), false)) order by f.key), '[]')
    from jsonb_each(p_filter) f
$$;
comment on function loci_internal.filter_checks(integer, loci_data.memories, jsonb, timestamptz, timestamptz) is
    'Each filter by itself, and whether a memory passes it.';
