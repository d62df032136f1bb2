-- Ratings of recalls, as evidence for tuning; the log of recalls with them.

-- Were the results of a logged recall of use? p_ratings: [{memory_id, useful, note?}]; the last word on a memory
-- counts. All or nothing. Rows are locked in order of their rank. Returns the memories rated. Security definer: writes
-- past the policies; checks the caller itself. Errors: 42501, P0002 (recall_id, the first memory that was not in the
-- answer), 22023 (recall_id, useful), 23514 (note).
create or replace function loci_api.rate_recall(p_namespace text, p_recall_id uuid, p_ratings jsonb)
returns table (memory_id uuid)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_wrong        record;
begin
    if p_recall_id is null then
        raise invalid_parameter_value using message = 'recall_id is needed beside ratings', column = 'recall_id';
    end if;
    if not exists (select from loci_data.recalls r where r.namespace_id = v_namespace_id and r.id = p_recall_id) then
        raise no_data_found using message = format('recall %s does not exist', p_recall_id), column = 'recall_id';
    end if;
    perform from loci_data.recall_results x
    where x.namespace_id = v_namespace_id and x.recall_id = p_recall_id order by x.rank for no key update;
    select r.place - 1 as place, r.rating ->> 'memory_id' as id, r.rating ->> 'useful' is null as silent into v_wrong
    from jsonb_array_elements(p_ratings) with ordinality r(rating, place)
    where r.rating ->> 'useful' is null
       or not exists (select from loci_data.recall_results x where x.namespace_id = v_namespace_id
                      and x.recall_id = p_recall_id
                      and x.memory_id = (r.rating ->> 'memory_id')::uuid)
    order by r.place limit 1;
    if v_wrong.silent then
        raise invalid_parameter_value using message = 'useful must be true or false',
            column = format('ratings[%s].useful', v_wrong.place);
    elsif v_wrong.place is not null then
        raise no_data_found using message = format('memory %s was not in the answer of this recall',
                                                   coalesce(v_wrong.id, 'null')),
            column = format('ratings[%s].memory_id', v_wrong.place);
    end if;
    return query
    update loci_data.recall_results x
    set useful = r.useful, note = r.note, rated_at = clock_timestamp(), rated_by = loci.current_agent()
    from (select distinct on (u.rating ->> 'memory_id') (u.rating ->> 'memory_id')::uuid as id,
          (u.rating ->> 'useful')::boolean as useful,
                 u.rating ->> 'note' as note
          from jsonb_array_elements(p_ratings) with ordinality u(rating, place) order by u.rating ->> 'memory_id',
               u.place desc) r
    where x.namespace_id = v_namespace_id and x.recall_id = p_recall_id and x.memory_id = r.id
    returning x.memory_id;
end $$;
comment on function loci_api.rate_recall(text, uuid, jsonb) is
    'Say of results of a logged recall whether they were useful; the memories rated. Errors: 42501, P0002, 22023, '
    '23514.';

-- Which questions were asked here whose answers were called useful later, and which memories were that? Of logged
-- recalls that no filters or times restricted; a question that was asked more than once counts once, with all that
-- answered; memories that are not there any more are left out. The last p_limit questions, newest first. A range of
-- recalls_at, and of recall_results for each. Security definer: reads past the policies; checks the caller itself.
-- Errors: 42501, P0002, 22023 (limit).
create or replace function loci_api.rated_questions(p_namespace text, p_limit integer)
returns table (question text, ids uuid[])
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'admin');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, '{}', null, null);
begin
    perform loci_internal.check_limit(p_limit);
    return query
    select (array_agg(r.query order by r.at desc, r.id))[1], array_agg(distinct m.id)
    from loci_data.recalls r
    join loci_data.recall_results x on x.namespace_id = v_ns and x.recall_id = r.id and x.useful
    join loci_data.memories m on m.namespace_id = v_ns and m.id = x.memory_id
    where r.namespace_id = v_ns and r.filters = '{}' and r.as_of is null and r.known_at is null
      and btrim(r.query) <> '' and loci_internal.memory_is_visible(m, v_filter)
    group by lower(btrim(r.query)) order by max(r.at) desc, lower(btrim(r.query)) limit p_limit;
end $$;
comment on function loci_api.rated_questions(text, integer) is
    'Questions of logged recalls with the memories that were called useful. Admin. Errors: 42501, P0002, 22023.';

-- Which memories answer these questions, as they are now? p_questions: [{question, ids?, contents?}]; a memory is named
-- by the id of any of its versions, or by its content. Evidence of each question, by the question's place: the version
-- that holds now, and its document. Probes of the primary key, of memories_lineage_version_key and memories_fold.
-- Security definer: reads past the policies; checks the caller itself. Missing evidence is left out where p_lenient
-- says so; a question without any has none. Errors: 42501, P0002 (questions[n].ids[n], questions[n].contents[n]: not in
-- this namespace, or not there any more).
create or replace function loci_api.tuning_evidence(p_namespace text, p_questions jsonb,
                                                    p_lenient boolean default false)
returns table (place integer, ids uuid[], documents bigint[])
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, '{}', null, null);
    v_wrong  text;
    v_kind   text;  -- and where it stands
begin
    for place, ids, documents, v_wrong in
        select (q.nth - 1)::integer,
               coalesce(array_agg(c.id order by e.kind, e.nth) filter (where c.id is not null), '{}'),
               coalesce(array_agg(c.doc_id order by e.kind, e.nth) filter (where c.id is not null), '{}'),
               (array_agg(format('%s[%s] %s', e.kind, e.nth - 1, left(e.value, 200)) order by e.kind, e.nth)
                filter (where c.id is null))[1]
        from jsonb_array_elements(p_questions) with ordinality q(question, nth)
        cross join lateral (
            select 'ids' as kind, i.nth, i.value
            from jsonb_array_elements_text(coalesce(q.question -> 'ids', '[]')) with ordinality i(value, nth)
            union all
            select 'contents', i.nth, i.value
            from jsonb_array_elements_text(coalesce(q.question -> 'contents', '[]')) with ordinality i(value, nth)) e
        left join lateral (
            select m.id, m.doc_id
            from (select o.lineage from loci_data.memories o
                  where e.kind = 'ids' and o.namespace_id = v_ns and o.id = e.value::uuid
                  union all
                  (select o.lineage from loci_data.memories o
                   where e.kind = 'contents' and o.namespace_id = v_ns and o.valid_to is null and o.status = 'active'
                     and o.content_hash = loci_internal.content_hash(e.value)
                   order by o.doc_id limit 1)) l
            cross join lateral (select o.id, o.doc_id from loci_data.memories o
                                where o.namespace_id = v_ns and o.lineage = l.lineage
                                  and loci_internal.memory_is_visible(o, v_filter)
                                order by o.version desc limit 1) m) c on true
        group by q.nth order by q.nth
    loop
        if v_wrong is not null and not p_lenient then
            v_kind := split_part(v_wrong, ' ', 1);
            raise no_data_found using column = format('questions[%s].%s', place, v_kind),
                message = format('the namespace has no memory %L now', substr(v_wrong, length(v_kind) + 2));
        end if;
        return next;
    end loop;
end $$;
comment on function loci_api.tuning_evidence(text, jsonb, boolean) is
    'Memories that answer questions, as they are now, by the place of the question. Errors: 42501, P0002.';

-- Logged recalls, one row for each memory in the answer; one without a memory where there was none. Under the policies:
-- rows of granted namespaces only.
create or replace view loci.recall_log with (security_invoker = true) as
select n.name as namespace, r.id as recall_id, r.at, r.agent_id, r.session_id, r.query, r.fusion, r.k, r.skipped,
       r.took_ms,
       x.rank, x.memory_id, x.score, x.arms,
       case when i.injected_at >= r.at then i.injected_at end as injected_at, i.hits, i.last_hit_at,
       x.useful, x.note, x.rated_at, x.rated_by, loci.agent_name(r.agent_id) as agent,
       loci.agent_name(x.rated_by) as rater, m.lineage, m.content as memory
from loci_data.recalls r
join loci_data.namespaces n on n.id = r.namespace_id
left join loci_data.recall_results x on x.namespace_id = r.namespace_id and x.recall_id = r.id
left join loci_data.injections i on i.namespace_id = x.namespace_id and i.session_id = r.session_id
     and i.memory_id = x.memory_id
left join loci_data.memories m on m.namespace_id = x.namespace_id and m.id = x.memory_id;
comment on view loci.recall_log is
    'Logged recalls and the memories that they were answered with: arms, ranks, whether they were injected, and later '
    'feedback. Empty where the setting recall_log is off: see logs_recalls in namespace_stats.';
comment on column loci.recall_log.namespace is 'Name of the namespace.';
comment on column loci.recall_log.recall_id is
    'The recall; the same in every namespace that one question searched. Joins recalls.id.';
comment on column loci.recall_log.at is 'When it was asked.';
comment on column loci.recall_log.agent_id is 'Agent that asked.';
comment on column loci.recall_log.session_id is 'The conversation that asked.';
comment on column loci.recall_log.query is 'The question.';
comment on column loci.recall_log.fusion is 'linear, rrf or relative_score.';
comment on column loci.recall_log.k is 'How many results were asked for.';
comment on column loci.recall_log.skipped is 'Arms that did not take part, and why.';
comment on column loci.recall_log.took_ms is 'Milliseconds until the ranking stood.';
comment on column loci.recall_log.rank is 'Place in the answer, from 1; null: no memory was found.';
comment on column loci.recall_log.memory_id is 'The memory. Joins memory_versions.id.';
comment on column loci.recall_log.score is 'Its fused score.';
comment on column loci.recall_log.arms is 'By arm that found it: rank and score there.';
comment on column loci.recall_log.injected_at is 'When the session was shown it, at the recall or later; null: not.';
comment on column loci.recall_log.hits is 'How often the session has found it by its words after it was shown.';
comment on column loci.recall_log.last_hit_at is 'When it did last.';
comment on column loci.recall_log.useful is 'Note of the rating.';
comment on column loci.recall_log.note is 'Why.';
comment on column loci.recall_log.rated_at is 'When that was said.';
comment on column loci.recall_log.rated_by is 'By whom.';
comment on column loci.recall_log.agent is 'Name of the agent that asked.';
comment on column loci.recall_log.rater is 'Name of the agent that rated.';
comment on column loci.recall_log.lineage is 'Name that groups the versions of the memory.';
comment on column loci.recall_log.memory is 'Content of the memory.';
