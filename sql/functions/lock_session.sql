-- Writers of one session wait for each other, to the end of the transaction: numbers of turns are drawn under this lock, so within a session they are
-- seen in the order in which they are committed. Called by add_turns, delete_turns and clear_conversation_log; internal. No errors.
create or replace function loci.lock_session(p_namespace_id integer, p_session_id text) returns void
language sql volatile
as $$
    select pg_advisory_xact_lock(hashtextextended('loci.session ' || p_session_id, p_namespace_id))
$$;
comment on function loci.lock_session(integer, text) is 'Lock a session against other writers of its turns. Internal.';
