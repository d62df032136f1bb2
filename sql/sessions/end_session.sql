-- End of a session, and its lock.

-- Consume what a session was shown, so that an end counts it once: how many memories, and which of them it found again
-- (hits).
create or replace function loci_internal.take_injections(p_namespace_id integer, p_session_id text, p_at timestamptz,
                                                         out injected integer, out hits uuid[])
language plpgsql volatile set search_path = ''
as $$
#variable_conflict use_column
begin
    perform from loci_data.injections i
    where i.namespace_id = p_namespace_id and i.session_id = p_session_id and i.ended_at is null order by i.memory_id
    for update;
    with taken as (
        update loci_data.injections i set ended_at = p_at
        where i.namespace_id = p_namespace_id and i.session_id = p_session_id and i.ended_at is null
        returning i.memory_id, i.hits
    )
    select count(*), array_agg(t.memory_id) filter (where t.hits > 0) into injected, hits from taken t;
end $$;
comment on function loci_internal.take_injections(integer, text, timestamptz) is
    'Consume what a session was shown.';

-- This session is over: what was it shown that it then found again? Those memories confirm their aspects, the
-- agent's count of ended sessions goes up, and every so many ends (settings aspect_decay_sessions) aspects that nothing
-- confirms decay; see learn_aspect_weights. Ending again changes nothing, unless something was injected since: then the
-- session was resumed, and its end counts again, for what is new. Two ends at once apply once: they wait for each other
-- at the row in session_ends. Locks: that row, the session's injections, its row in context_sessions, the agent's
-- count, aspects by id. Everything is in tables, so a restart changes nothing. Security definer: writes past the
-- policies; checks the caller itself. Errors: 42501, P0002, 22023 (session_id).
create or replace function loci_api.end_session(p_namespace text, p_session_id text)
returns table (session_id text, ended boolean, ended_at timestamptz, injected integer, hit integer, confirmed integer,
               decayed integer, sessions integer)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_at           timestamptz := clock_timestamp();
    v_first        boolean;
    v_taken        record;
begin
    perform loci_internal.check_session(p_session_id);
    insert into loci_data.session_ends (namespace_id, session_id, agent_id, ended_at)
    values (v_namespace_id, p_session_id, loci.current_agent(), v_at) on conflict do nothing;
    v_first := found;
    perform from loci_data.session_ends e where e.namespace_id = v_namespace_id and e.session_id = p_session_id
        for update;
    v_taken := loci_internal.take_injections(v_namespace_id, p_session_id, v_at);
    injected := v_taken.injected;

    update loci_data.context_sessions c set contexts = 0
    where c.namespace_id = v_namespace_id and c.session_id = p_session_id and c.contexts > 0;

    session_id := p_session_id;
    ended := v_first or injected > 0;
    hit := coalesce(cardinality(v_taken.hits), 0);
    confirmed := 0;
    decayed := 0;
    if ended then
        select c.confirmed, c.decayed into confirmed, decayed
        from loci_internal.count_session(v_namespace_id, p_session_id, v_taken.hits, v_at) c;
    end if;
    select e.ended_at into ended_at from loci_data.session_ends e where e.namespace_id = v_namespace_id
        and e.session_id = p_session_id;
    select c.sessions into sessions from loci_data.session_counts c where c.namespace_id = v_namespace_id
        and c.agent_id = loci.current_agent();
    sessions := coalesce(sessions, 0);
    return next;
end $$;
comment on function loci_api.end_session(text, text) is
    'End a session: what was shown to it and found again confirms aspects; every tenth end lets others decay. Again, '
    'it changes nothing. Errors: 42501, P0002, 22023.';

-- Count a session that has ended: its end is the caller's, the caller's agent has ended one more, what the session
-- found again confirms its aspects, and every so many ends aspects decay (learn_aspect_weights). Returns how many.
create or replace function loci_internal.count_session(
    p_namespace_id integer, p_session_id text, p_hits uuid[], p_at timestamptz, out confirmed integer,
    out decayed integer)
language plpgsql volatile set search_path = ''
as $$
declare
    v_every    integer := (loci_internal.settings(p_namespace_id) ->> 'aspect_decay_sessions')::double precision;
    v_sessions integer;
    v_decays   boolean;
begin
    update loci_data.session_ends e set agent_id = loci.current_agent(), ended_at = greatest(e.ended_at, p_at)
    where e.namespace_id = p_namespace_id and e.session_id = p_session_id;
    insert into loci_data.session_counts as c (namespace_id, agent_id, sessions, updated_at)
    values (p_namespace_id, loci.current_agent(), 1, p_at)
    on conflict (namespace_id, agent_id) do update set sessions = c.sessions + 1,
        updated_at = greatest(c.updated_at, p_at)
    returning c.sessions into v_sessions;
    v_decays := v_every > 0 and v_sessions % greatest(v_every, 1) = 0;
    select l.confirmed, l.decayed into confirmed, decayed
    from loci_internal.learn_aspect_weights(p_namespace_id, p_session_id, p_hits, v_decays) l;
    update loci_data.session_counts c set decayed_at = p_at
    where c.namespace_id = p_namespace_id and c.agent_id = loci.current_agent() and v_decays;
end $$;
comment on function loci_internal.count_session(integer, text, uuid[], timestamptz) is
    'Count an ended session; how many aspects it confirmed, and how many decayed.';

-- Writers of one session wait for each other, to the end of the transaction: numbers of turns are drawn under this
-- lock, so within a session they are seen in the order in which they are committed. No errors.
create or replace function loci_internal.lock_session(p_namespace_id integer, p_session_id text) returns void
language sql volatile
as $$
    select loci_internal.take_turn(p_namespace_id, 'session ' || p_session_id)
$$;
comment on function loci_internal.lock_session(integer, text) is
    'Lock a session against other writers of its turns.';

-- Is this the name of a session? 1 to 255 characters. Errors: 22023 (session_id).
create or replace function loci_internal.check_session(p_session_id text) returns void
language plpgsql immutable set search_path = ''
as $$
begin
    if p_session_id is null or length(p_session_id) not between 1 and 255 then
        raise invalid_parameter_value using column = 'session_id',
            message = format('session_id must have 1 to 255 characters, not %s',
                             coalesce(length(p_session_id)::text, 'null'));
    end if;
end $$;
comment on function loci_internal.check_session(text) is
    'Raise 22023 unless a session is named.';
