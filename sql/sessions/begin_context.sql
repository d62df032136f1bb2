-- A context is being built for a session: the how-manieth since the session began, or since its last end? 1: the first,
-- which may fall back to memories that no query found. Contexts of one session that come at once wait for each other
-- here until the transaction ends, so one of them is the first, and each sees what those before it have injected.
-- Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (session_id).
create or replace function loci_api.begin_context(p_namespace text, p_session_id text) returns integer
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_at           timestamptz := clock_timestamp();
    v_contexts     integer;
begin
    perform loci_internal.check_session(p_session_id);
    insert into loci_data.context_sessions as c (namespace_id, session_id, agent_id, contexts, first_at, last_at)
    values (v_namespace_id, p_session_id, loci.current_agent(), 1, v_at, v_at)
    on conflict (namespace_id, session_id) do update
    set agent_id = excluded.agent_id, contexts = c.contexts + 1, last_at = greatest(c.last_at, excluded.last_at)
    returning c.contexts into v_contexts;
    return v_contexts;
end $$;
comment on function loci_api.begin_context(text, text) is
    'Count a context of a session; 1 for the first since it began or ended. Errors: 42501, P0002, 22023.';
