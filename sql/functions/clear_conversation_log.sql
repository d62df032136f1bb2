-- A pass has learned from these turns (row W3): they leave the log, exactly these, whatever was said meanwhile. The last replayed_turns of a
-- session stay for replay; older ones are deleted. Ids that are not in the log are left alone, so it may be repeated. Sessions are locked in
-- order, like their writers do. Security definer: writes past the policies; checks the caller itself. Called by the passes that learn from
-- conversations. Errors: 42501, P0002.
create or replace function loci.clear_conversation_log(p_namespace text, p_ids bigint[]) returns table (cleared bigint, deleted bigint)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_ns       integer := loci.authorize(p_namespace, 'writer');
    v_sessions text[];
begin
    v_sessions := array(select distinct t.session_id from loci_data.conversation_turns t
                        where t.namespace_id = v_ns and t.id = any (p_ids) and t.logged order by t.session_id);
    for i in 1 .. cardinality(v_sessions) loop
        perform loci.lock_session(v_ns, v_sessions[i]);
    end loop;
    update loci_data.conversation_turns t set logged = false where t.namespace_id = v_ns and t.id = any (p_ids) and t.logged;
    get diagnostics cleared = row_count;
    deleted := loci.drop_turns(v_ns, v_sessions);
    return next;
end $$;
comment on function loci.clear_conversation_log(text, bigint[]) is 'Take turns out of the log; how many, and how many were deleted, being older than what is replayed. Errors: 42501, P0002.';
