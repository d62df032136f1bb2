-- Turns leave the conversation log, exactly these. The last replayed_turns of a session stay for replay; older ones are deleted. Sessions are
-- locked in order, like their writers do. Called by clear_conversation_log and clear_turns_read; internal.
create or replace function loci.clear_turns(p_namespace_id integer, p_ids bigint[]) returns table (cleared bigint, deleted bigint)
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_sessions text[];
begin
    v_sessions := array(select distinct t.session_id from loci_data.conversation_turns t
                        where t.namespace_id = p_namespace_id and t.id = any (p_ids) and t.logged order by t.session_id);
    for i in 1 .. cardinality(v_sessions) loop
        perform loci.lock_session(p_namespace_id, v_sessions[i]);
    end loop;
    update loci_data.conversation_turns t set logged = false where t.namespace_id = p_namespace_id and t.id = any (p_ids) and t.logged;
    get diagnostics cleared = row_count;
    deleted := loci.drop_turns(p_namespace_id, v_sessions);
    return next;
end $$;
comment on function loci.clear_turns(integer, bigint[]) is 'Take turns out of the conversation log. Internal.';
