-- Decisions about facts: which facts wait, and how a decision is written.

-- Do what was decided about facts: one write through loci_api.remember, one statement that reinforces what is there,
-- and the links. Where the write found that someone else had just written the same, the decision becomes nothing.
-- Errors: those of remember and link_memories.
create or replace function loci_internal.apply_fact_decisions(p_namespace_id integer, p_namespace text, p_items jsonb,
                                                              p_decisions loci_api.fact_decision[])
returns table (ordinal integer, action text, memory_id uuid, lineage text, superseded uuid, target_id uuid, links jsonb,
               confidence double precision, reason text, signal text, unsettled jsonb)
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ids      uuid[];  -- memories of the facts
    v_written  jsonb[];
    v_places   integer[];  -- which facts are written
    v_outcomes loci_internal.memory_outcome[];
    v_outcome  loci_internal.memory_outcome;
begin
    -- the active model stays what it is from here on: see finish_reembedding
    lock table loci_data.memories in row exclusive mode;
    select w.ids, w.items, w.places into v_ids, v_written, v_places
    from loci_internal.plan_fact_writes(p_items, p_decisions) w;
    if v_places <> '{}' then
        v_outcomes := array(select (r.ordinal, r.id, r.superseded, r.duplicate, r.ignored,
                                    r.cut_short)::loci_internal.memory_outcome
                            from loci_api.remember(p_namespace, to_jsonb(v_written)) r order by r.ordinal);
        perform loci_internal.queue_written_facts(p_namespace_id, v_outcomes);
        foreach v_outcome in array v_outcomes loop
            v_ids[v_places[v_outcome.ordinal + 1] + 1] := v_outcome.id;
        end loop;
    end if;
    perform loci_internal.reinforce_repeated_facts(p_namespace_id, p_items, p_decisions, v_ids);
    perform loci_internal.link_decided_facts(p_namespace_id, p_namespace, p_decisions, v_ids, v_outcomes, v_places);

    return query
    select o.ordinal, case when w.duplicate then 'nothing' else o.action end, v_ids[o.ordinal + 1], m.lineage,
           w.superseded, coalesce(o.target_id, v_ids[o.fact + 1], case when w.duplicate then w.id end),
           case when w.duplicate then '[]' else (
               select coalesce(jsonb_agg(jsonb_build_object(
                          'target_id', coalesce(l.value ->> 'target_id',
                                                v_ids[(l.value ->> 'fact')::integer + 1]::text),
                          'type', l.value -> 'type', 'strength', l.value -> 'strength') order by l.nth), '[]')
               from jsonb_array_elements(o.links) with ordinality l(value, nth)) end,
           o.confidence, case when w.duplicate then 'it was written by someone else just now' else o.reason end,
           o.signal, case when w.duplicate or o.action = 'nothing' then '[]' else loci_internal.name_unsettled(
               p_namespace_id, m.lineage_id, loci_internal.doubted_by(o, v_ids)) end
    from unnest(p_decisions) o
    left join unnest(v_outcomes) w on v_places[w.ordinal + 1] = o.ordinal
    left join loci_data.memories m on m.namespace_id = p_namespace_id and m.id = v_ids[o.ordinal + 1]
    order by o.ordinal;
end $$;
comment on function loci_internal.apply_fact_decisions(integer, text, jsonb, loci_api.fact_decision[]) is
    'Do what was decided about facts.';

-- Which items are written, as which memories? ids: of each fact the memory that it becomes or repeats. items: those for
-- loci_api.remember, without vectors of another model, for which the worker makes one. places: the ordinals of their
-- facts. A fact that a later one of the text supersedes gets its id as the name of a lineage.
create or replace function loci_internal.plan_fact_writes(p_items jsonb, p_decisions loci_api.fact_decision[])
returns table (ids uuid[], items jsonb[], places integer[])
language plpgsql volatile set search_path = ''
as $$
declare
    v_facts    integer := cardinality(p_decisions);
    v_model    loci_data.embedding_models;
    v_lineages text[] := array_fill(null::text, array[v_facts]);  -- that a fact belongs to
    d          loci_api.fact_decision;
    v_item     jsonb;
begin
    ids := array(select loci_api.uuid7() from generate_series(1, v_facts));
    items := '{}';
    places := '{}';
    select * into v_model from loci_data.embedding_models m where m.active;
    foreach d in array p_decisions loop
        v_lineages[d.ordinal + 1] := case when d.action in ('update', 'nothing') then
            coalesce(d.lineage, v_lineages[d.fact + 1], ids[d.fact + 1]::text) end;
        if d.action = 'nothing' then
            ids[d.ordinal + 1] := coalesce(d.target_id, ids[d.fact + 1]);
            continue;
        end if;
        v_item := p_items -> d.ordinal;
        if jsonb_array_length(coalesce(nullif(v_item -> 'embedding', 'null'), '[]')) is distinct from v_model.dimensions
           or coalesce((v_item ->> 'embedding_model')::integer, v_model.id) <> v_model.id then
            v_item := v_item - 'embedding';
        end if;
        if v_lineages[d.ordinal + 1] is null
            and exists (select from unnest(p_decisions) o where o.action = 'update' and o.fact = d.ordinal) then
            v_lineages[d.ordinal + 1] := ids[d.ordinal + 1]::text;
        end if;
        items := items || (
            v_item - array['lineage', 'embedding_model', 'spoken'] || jsonb_build_object('id', ids[d.ordinal + 1])
            || case when v_lineages[d.ordinal + 1] is null then '{}'
                    else jsonb_build_object('lineage', v_lineages[d.ordinal + 1]) end);
        places := places || d.ordinal;
    end loop;
    return next;
end $$;
comment on function loci_internal.plan_fact_writes(jsonb, loci_api.fact_decision[]) is
    'Memories that facts become, and the items that write them.';

-- Facts just written that are embedded with their context: the vector of the bare fact serves until the worker's comes.
create or replace function loci_internal.queue_written_facts(p_namespace_id integer,
                                                             p_outcomes loci_internal.memory_outcome[]) returns void
language sql volatile set search_path = '' set enable_seqscan = off
as $$
    insert into loci_data.embedding_queue (namespace_id, memory_id, model_id, has_vector)
    select p_namespace_id, m.id, e.id, exists (
               select from loci_data.memory_vectors v
               where v.namespace_id = p_namespace_id and v.memory_id = m.id and v.model_id = e.id)
    from unnest(p_outcomes) o
    cross join lateral (select w.* from loci_data.memories w where w.namespace_id = p_namespace_id
                        and w.id = o.id limit 1) m
    cross join loci_data.embedding_models e
    where e.in_use and not o.duplicate and loci_internal.memory_embedding_text(m) <> m.content
    on conflict do nothing
$$;
comment on function loci_internal.queue_written_facts(integer, loci_internal.memory_outcome[]) is
    'Queue written facts whose text to embed is more than their content.';

-- Memories that facts repeat count one observation more for each. A statement that a user repeats is no longer an
-- assistant's alone.
create or replace function loci_internal.reinforce_repeated_facts(
    p_namespace_id integer, p_items jsonb, p_decisions loci_api.fact_decision[], p_ids uuid[]) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_reinforced uuid[] := array(select p_ids[o.ordinal + 1] from unnest(p_decisions) o where o.action = 'nothing');
begin
    update loci_data.memories m set source = t.source
    from (select p_ids[o.ordinal + 1] as id, min(p_items -> o.ordinal ->> 'source') as source from unnest(p_decisions) o
          where o.action = 'nothing' and p_items -> o.ordinal ->> 'source' <> 'assistant' group by 1) t
    where m.namespace_id = p_namespace_id and m.id = t.id and m.source = 'assistant';
    update loci_data.memories m
    set observations = m.observations + r.times, last_observed_at = clock_timestamp(), updated_at = clock_timestamp()
    from (select u.id, count(*)::integer as times from unnest(v_reinforced) u(id) group by u.id) r
    where m.namespace_id = p_namespace_id and m.id = any (v_reinforced) and m.id = r.id;
end $$;
comment on function loci_internal.reinforce_repeated_facts(integer, jsonb, loci_api.fact_decision[], uuid[]) is
    'Count facts that repeat a memory as observations of it.';

-- Link written facts as was decided, but for duplicates, memories of one lineage, and contradictions of which both
-- sides were declared true. Errors: those of link_memories.
create or replace function loci_internal.link_decided_facts(
    p_namespace_id integer, p_namespace text, p_decisions loci_api.fact_decision[], p_ids uuid[],
    p_outcomes loci_internal.memory_outcome[], p_places integer[]) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_link record;
begin
    for v_link in
        select p_ids[o.ordinal + 1] as source, t.id as target, l.type, l.strength
        from unnest(p_decisions) o
        cross join lateral jsonb_to_recordset(o.links) l(target_id uuid, fact integer, type text,
                                                         strength double precision)
        cross join lateral (select coalesce(l.target_id, p_ids[l.fact + 1]) as id) t
        cross join lateral (select m.lineage_id from loci_data.memories m where m.namespace_id = p_namespace_id
                            and m.id = t.id limit 1) n
        where o.action <> 'nothing'
          and not (l.type = 'contradicts' and loci_internal.are_both_true(
                  p_namespace_id, n.lineage_id, (select m.lineage_id from loci_data.memories m
                                                 where m.namespace_id = p_namespace_id
                                                   and m.id = p_ids[o.ordinal + 1])))
          and not exists (select from unnest(p_outcomes) w where w.duplicate and p_places[w.ordinal + 1] = o.ordinal)
          and n.lineage_id <> (select m.lineage_id from loci_data.memories m where m.namespace_id = p_namespace_id
                               and m.id = p_ids[o.ordinal + 1])
        order by o.ordinal, l.type, l.strength desc, t.id
    loop
        perform loci_api.link_memories(p_namespace, v_link.source, v_link.target, v_link.type, v_link.strength);
    end loop;
end $$;
comment on function loci_internal.link_decided_facts(integer, text, loci_api.fact_decision[], uuid[],
                                                     loci_internal.memory_outcome[], integer[]) is
    'Link written facts as was decided.';

-- Pairs that a decision leaves open: {target_id, similarity} of what it links as contradicted and of what the fact
-- may outdate besides, earlier facts of the text by their ids (p_ids; those without an id are left out). Pure.
create or replace function loci_internal.doubted_by(p_decision loci_api.fact_decision, p_ids uuid[]) returns jsonb
language sql immutable parallel safe
as $$
    select coalesce(jsonb_agg(jsonb_build_object('target_id', t.id, 'similarity', d.similarity)
                              order by d.rank, d.nth), '[]')
    from (select 0 as rank, l.nth, l.value, l.value -> 'strength' as similarity
          from jsonb_array_elements(p_decision.links) with ordinality l(value, nth)
          where l.value ->> 'type' = 'contradicts'
          union all
          select 1, u.nth, u.value, u.value -> 'similarity'
          from jsonb_array_elements(p_decision.unsettled) with ordinality u(value, nth)) d
    cross join lateral (select coalesce(d.value ->> 'target_id',
                                        p_ids[(d.value ->> 'fact')::integer + 1]::text) as id) t
    where t.id is not null
$$;
comment on function loci_internal.doubted_by(loci_api.fact_decision, uuid[]) is
    'Pairs that a decision about a fact leaves open.';

-- What has to be decided about the facts of a text, for who decides otherwise than by rules (a model)? For each fact
-- what the rules would do (decision, in the form that retain takes), and what is known beside it (known: see
-- fact_candidates; number: its place, from 1; about: as stated). is_protected: a memory so important, or so often
-- observed, that only a contradiction that rules see too may make a version of it. is_settled: the fact is there
-- already, in words that say the same, and nothing is left to decide. Items are those of loci_api.remember, with their
-- vectors. Cost: fact_candidates, and half a millisecond. Security definer: reads past the policies; checks first.
-- Errors: 42501, P0002, 22023.
create or replace function loci_api.facts_to_decide(p_namespace text, p_items jsonb)
returns table (ordinal integer, is_settled boolean, decision jsonb, known jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'writer');
    v_settings jsonb := loci_internal.settings(v_ns);
    v_facts    integer := jsonb_array_length(p_items);
    v_known    loci_api.fact_candidate[];
begin
    if v_facts > (v_settings ->> 'retain_facts')::integer then
        raise invalid_parameter_value using
            column = case when p_items -> 0 ? 'spoken' then 'messages' else 'content' end,
            message = format('the text has %s facts; at most %s are taken in at once (setting retain_facts)', v_facts,
                             v_settings ->> 'retain_facts');
    end if;
    v_known := array(select k from loci.fact_candidates(p_namespace, p_items) k);
    return query
    with beside as materialized (
        select k.ordinal as about,
               jsonb_agg(to_jsonb(k) - 'ordinal' || jsonb_build_object('number', k.number, 'about', m.about,
                                                                       'is_protected', coalesce(m.is_protected, false))
                                             order by k.number) as known
        from (select u.*, row_number() over (partition by u.ordinal order by u.exact desc,
                                             u.similarity desc nulls last, u.overlap desc, u.fact,
                                             u.memory_id) as number
              from unnest(v_known) u) k
        left join lateral (
            select o.importance >= (v_settings ->> 'protected_importance')::double precision
                   or o.observations >= (v_settings ->> 'protected_observations')::integer as is_protected, o.about
            from loci_data.memories o where o.namespace_id = v_ns and o.id = k.memory_id limit 1) m on true
        group by k.ordinal
    )
    select d.ordinal, d.action = 'nothing', jsonb_strip_nulls(to_jsonb(d)), coalesce(b.known, '[]')
    from unnest(loci_internal.decide_facts(v_ns, v_facts, v_known, p_items)) d
    left join beside b on b.about = d.ordinal
    order by d.ordinal;
end $$;
comment on function loci_api.facts_to_decide(text, jsonb) is
    'For each fact of a text, what the rules would do and what is known beside it: what a decision elsewhere needs. '
    'Errors: 42501, P0002, 22023.';
