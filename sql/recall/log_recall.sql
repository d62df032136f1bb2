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
