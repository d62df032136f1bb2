-- Log of recalls.

-- Logged recalls, one row a question; what each was answered with is in recall_log. By id the primary key, by session
-- recalls_session, by time recalls_at. Under the policies: rows of granted namespaces only.
create or replace view loci.recalls with (security_invoker = true) as
select n.name as namespace, r.id, r.at, r.session_id, r.query, r.results,
       (select count(*) from loci_data.recall_results x
        where x.namespace_id = r.namespace_id and x.recall_id = r.id and x.useful) as useful,
       (select count(*) from loci_data.recall_results x
        where x.namespace_id = r.namespace_id and x.recall_id = r.id and not x.useful) as useless,
       r.arms, r.fusion, r.k, r.filters, r.as_of, r.known_at, r.skipped, r.took_ms, r.agent_id,
       loci.agent_name(r.agent_id) as agent
from loci_data.recalls r
join loci_data.namespaces n on n.id = r.namespace_id;
comment on view loci.recalls is
    'Logged recalls: one row a question. The memories that it was answered with are in recall_log. '
    'Empty where the setting recall_log is off: see logs_recalls in namespace_stats.';
comment on column loci.recalls.namespace is 'Name of the namespace.';
comment on column loci.recalls.id is
    'Identifier; of a question to several namespaces the same in each.';
comment on column loci.recalls.at is 'When it was asked.';
comment on column loci.recalls.session_id is 'The conversation that asked; null: none.';
comment on column loci.recalls.query is 'The question.';
comment on column loci.recalls.results is 'With how many memories it was answered.';
comment on column loci.recalls.useful is 'How many of them were called useful later.';
comment on column loci.recalls.useless is 'How many were called useless.';
comment on column loci.recalls.arms is 'Arms that it asked for.';
comment on column loci.recalls.fusion is 'linear, rrf or relative_score.';
comment on column loci.recalls.k is 'How many results were asked for.';
comment on column loci.recalls.filters is 'Filters.';
comment on column loci.recalls.as_of is 'Valid at; null: now.';
comment on column loci.recalls.known_at is 'As known at; null: now.';
comment on column loci.recalls.skipped is 'Arms that did not take part, and why.';
comment on column loci.recalls.took_ms is 'Milliseconds until the ranking stood.';
comment on column loci.recalls.agent_id is 'Agent that asked.';
comment on column loci.recalls.agent is 'Name of that agent.';

-- One logged recall with the memories in its answer, in order: arms, ranks, scores, whether the session was shown each,
-- and what was said of it. Two primary key ranges. Security definer: past the policies; checks the caller itself.
-- Errors: 42501, P0002.
create or replace function loci.get_recall(p_namespace text, p_id uuid)
returns table (id uuid, at timestamptz, agent_id uuid, session_id text, query text, arms text[], fusion text,
               k integer, filters jsonb,
               as_of timestamptz, known_at timestamptz, skipped jsonb, results integer, took_ms double precision,
               memories jsonb)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    select r.id, r.at, r.agent_id, r.session_id, r.query, r.arms, r.fusion, r.k, r.filters, r.as_of, r.known_at,
           r.skipped, r.results, r.took_ms,
           (select coalesce(jsonb_agg(to_jsonb(l) - '{namespace_id,recall_id}'::text[] order by l.rank), '[]')
            from loci_internal.recalled_memories(v_namespace_id, r.id, r.session_id, r.at) l)
    from loci_data.recalls r where r.namespace_id = v_namespace_id and r.id = p_id;
    if not found then
        raise no_data_found using message = format('recall %s does not exist', p_id), column = 'id';
    end if;
end $$;
comment on function loci.get_recall(text, uuid) is
    'A logged recall with the memories in its answer. Errors: 42501, P0002.';

-- The memories in the answer of a logged recall, and what became of each: was its session shown it then or later
-- (injected_at), how often has the session found it by its words since it was shown (hits), and what was said of it.
-- Inlines into get_recall. A range of recall_results and one probe of injections each.
create or replace function loci_internal.recalled_memories(p_namespace_id integer, p_recall_id uuid, p_session_id text,
                                                           p_at timestamptz)
returns table (rank integer, memory_id uuid, score double precision, arms jsonb, injected_at timestamptz, hits integer,
               last_hit_at timestamptz,
               useful boolean, note text, rated_at timestamptz, rated_by uuid)
language sql stable
as $$
    select x.rank, x.memory_id, x.score, x.arms, case when i.injected_at >= p_at then i.injected_at end, i.hits,
           i.last_hit_at,
           x.useful, x.note, x.rated_at, x.rated_by
    from loci_data.recall_results x
    left join loci_data.injections i on i.namespace_id = x.namespace_id and i.session_id = p_session_id
         and i.memory_id = x.memory_id
    where x.namespace_id = p_namespace_id and x.recall_id = p_recall_id
$$;
comment on function loci_internal.recalled_memories(integer, uuid, text, timestamptz) is
    'Memories of a logged recall, with injection, hits and rating.';

-- When was a memory recalled, and what became of that? Logged recalls that had this version in their answer, newest
-- first: its rank and score there, whether the session was shown it (injected_at) and found it again (hits), and how it
-- was rated. cursor, on every row, is what to send for the page that starts after it. Index recall_results_memory, one
-- probe of recalls and of injections a row. Security definer: past the policies; checks the caller itself. Errors:
-- 42501, P0002, 22023 (limit, cursor).
create or replace function loci.list_memory_recalls(p_namespace text, p_id uuid, p_limit integer default 50,
                                                    p_cursor text default null)
returns table (recall_id uuid, at timestamptz, agent_id uuid, session_id text, query text, rank integer,
               score double precision, arms jsonb, injected_at timestamptz, hits integer, last_hit_at timestamptz,
               useful boolean, note text, rated_at timestamptz, rated_by uuid, cursor text)
language plpgsql stable security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_before uuid;
begin
    perform loci_internal.check_page(p_limit);
    v_before := coalesce((loci_internal.read_cursor(p_cursor, 'uuid'))[1], 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    if not exists (select from loci_data.memories m where m.namespace_id = v_ns and m.id = p_id) then
        raise no_data_found using message = format('memory %s does not exist', p_id), column = 'id';
    end if;
    return query
    select r.id, r.at, r.agent_id, r.session_id, r.query, x.rank, x.score, x.arms,
           case when i.injected_at >= r.at then i.injected_at end, i.hits, i.last_hit_at,
           x.useful, x.note, x.rated_at, x.rated_by, loci_internal.make_cursor(jsonb_build_array(r.id))
    from loci_data.recall_results x
    join loci_data.recalls r on r.namespace_id = x.namespace_id and r.id = x.recall_id
    left join loci_data.injections i on i.namespace_id = x.namespace_id and i.session_id = r.session_id
         and i.memory_id = x.memory_id
    where x.namespace_id = v_ns and x.memory_id = p_id and x.recall_id < v_before
    order by x.recall_id desc limit p_limit;
end $$;
comment on function loci.list_memory_recalls(text, uuid, integer, text) is
    'Logged recalls that had a memory in their answer, newest first, with its rating; cursor pages. Errors: 42501, '
    'P0002, 22023.';

-- Which recalls were logged? Newest first, of one session or of all; cursor, on every row, is what to send
-- for the page that starts after it. useful and useless count what was said of the results. Primary key, or index
-- recalls_session. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit,
-- cursor).
create or replace function loci.list_recalls(
    p_namespace text, p_session_id text default null, p_limit integer default 50, p_cursor text default null)
returns table (id uuid, at timestamptz, agent_id uuid, session_id text, query text, arms text[], fusion text,
               k integer, filters jsonb,
               as_of timestamptz, known_at timestamptz, skipped jsonb, results integer, took_ms double precision,
               useful bigint, useless bigint, cursor text)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_before       uuid;
begin
    perform loci_internal.check_page(p_limit);
    v_before := coalesce((loci_internal.read_cursor(p_cursor, 'uuid'))[1], 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    return query
    select r.id, r.at, r.agent_id, r.session_id, r.query, r.arms, r.fusion, r.k, r.filters, r.as_of, r.known_at,
           r.skipped, r.results, r.took_ms,
           f.useful, f.useless, loci_internal.make_cursor(jsonb_build_array(r.id))
    from (select l.* from loci_data.recalls l
          where l.namespace_id = v_namespace_id and l.id < v_before
            and (p_session_id is null or l.session_id = p_session_id)
          order by l.id desc limit p_limit) r
    cross join lateral (select count(*) filter (where x.useful) as useful,
                        count(*) filter (where not x.useful) as useless
                        from loci_data.recall_results x where x.namespace_id = v_namespace_id and x.recall_id = r.id) f
    order by r.id desc;
end $$;
comment on function loci.list_recalls(text, text, integer, text) is
    'Logged recalls, newest first; cursor pages. Errors: 42501, P0002, 22023.';

-- Log a recall and the memories that it was answered with, for those who may read: the log is the system's. p_recall:
-- {id, session_id?, query, arms, fusion, k, filters?, as_of?, known_at?, skipped?, results, took_ms}; p_results:
-- [{document, rank, score, arms: {arm: {rank, score}}}]. A memory that is being erased at this moment is left out: a
-- recall neither waits for it nor fails over it. Returns how many were logged. Cost: one statement, sent behind the
-- answer. Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002, 23514, 23505
-- (id).
create or replace function loci_api.log_recall(p_namespace text, p_recall jsonb, p_results jsonb) returns integer
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_logged       integer;
begin
    insert into loci_data.recalls (namespace_id, id, at, agent_id, session_id, query, arms, fusion, k, filters, as_of,
                                   known_at, skipped, results, took_ms)
    select v_namespace_id, r.id, clock_timestamp(), loci.current_agent(), r.session_id, left(r.query, 10000), r.arms,
           r.fusion, r.k,
           coalesce(r.filters, '{}'), r.as_of, r.known_at, coalesce(r.skipped, '{}'), r.results, r.took_ms
    from jsonb_to_record(p_recall) r(id uuid, session_id text, query text, arms text[], fusion text, k integer,
                                     filters jsonb,
                                     as_of timestamptz, known_at timestamptz, skipped jsonb, results integer,
                                     took_ms double precision);
    with held as (
        select m.id, m.doc_id from loci_data.memories m
        where m.namespace_id = v_namespace_id
          and m.doc_id = any (array(select (r ->> 'document')::bigint from jsonb_array_elements(p_results) r))
        order by m.doc_id for key share skip locked
    )
    insert into loci_data.recall_results (namespace_id, recall_id, rank, memory_id, score, arms)
    select v_namespace_id, (p_recall ->> 'id')::uuid, r.rank, h.id, r.score, r.arms
    from jsonb_to_recordset(p_results) r(document bigint, rank integer, score double precision, arms jsonb)
    join held h on h.doc_id = r.document
    order by r.rank;
    get diagnostics v_logged = row_count;
    return v_logged;
end $$;
comment on function loci_api.log_recall(text, jsonb, jsonb) is
    'Log a recall and the memories in its answer; how many were logged. Readers may. Errors: 42501, P0002, 23505, '
    '23514.';

-- Take a recall out of the log, question and all. Security definer: writes past the policies; checks the caller itself.
-- Errors: 42501, P0002.
create or replace function loci_api.delete_recall(p_namespace text, p_id uuid) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
begin
    delete from loci_data.recalls r where r.namespace_id = v_namespace_id and r.id = p_id;
    if not found then
        raise no_data_found using message = format('recall %s does not exist', p_id), column = 'id';
    end if;
end $$;
comment on function loci_api.delete_recall(text, uuid) is
    'Delete a logged recall. Errors: 42501, P0002.';
