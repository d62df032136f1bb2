-- Delete a conversation, its part of the log included; how many turns. Waits for a write under way in the session, so
-- that nothing of it comes after. What reports of passes say of it in words goes, too. Security definer: writes past
-- the policies; checks the caller itself. Errors: 42501, P0002 (namespace).
create or replace function loci_api.delete_turns(p_namespace text, p_session_id text) returns table (deleted bigint)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'writer');
    v_ids bigint[];
begin
    perform loci_internal.lock_session(v_ns, p_session_id);
    v_ids := array(select t.id from loci_data.conversation_turns t
                   where t.namespace_id = v_ns and t.session_id = p_session_id order by t.id for update);
    delete from loci_data.conversation_turns t where t.namespace_id = v_ns and t.session_id = p_session_id
        and t.id = any (v_ids);
    perform loci_internal.erase_pass_plans(v_ns, v_ids);
    return query select cardinality(v_ids)::bigint;
end $$;
comment on function loci_api.delete_turns(text, text) is
    'Delete the turns of a session; how many. Errors: 42501, P0002.';
