-- Take the last turn of a conversation away, and return it; no row where there is none. Waits for a write under way in
-- the session, so that of two callers each gets a turn of its own. One probe of the primary key. Security definer:
-- writes past the policies; checks the caller itself. Errors: 42501, P0002 (namespace).
create or replace function loci_api.delete_last_turn(p_namespace text, p_session_id text)
returns table (id bigint, session_id text, role text, content text, metadata jsonb, said_at timestamptz)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns   integer := loci_internal.authorize(p_namespace, 'writer');
    v_turn loci_data.conversation_turns;
begin
    perform loci_internal.lock_session(v_ns, p_session_id);
    select t.* into v_turn from loci_data.conversation_turns t
    where t.namespace_id = v_ns and t.session_id = p_session_id order by t.id desc limit 1 for update;
    if not found then
        return;
    end if;
    delete from loci_data.conversation_turns t
    where t.namespace_id = v_ns and t.session_id = p_session_id and t.id = v_turn.id;
    perform loci_internal.erase_pass_plans(v_ns, array[v_turn.id]);
    return query select v_turn.id, v_turn.session_id, v_turn.role, v_turn.content, v_turn.metadata, v_turn.said_at;
end $$;
comment on function loci_api.delete_last_turn(text, text) is
    'Delete the last turn of a session and return it. Errors: 42501, P0002.';
