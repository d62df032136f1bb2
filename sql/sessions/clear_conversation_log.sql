-- A pass has learned from these turns: they leave the log, exactly these, whatever was said meanwhile. The last
-- replayed_turns of a session stay for replay; older ones are deleted. Ids that are not in the log are left alone, so
-- it may be repeated. Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.clear_conversation_log(p_namespace text, p_ids bigint[])
returns table (cleared bigint, deleted bigint)
language plpgsql volatile security definer set search_path = ''
as $$
begin
    return query select c.cleared, c.deleted
        from loci_internal.clear_turns(loci_internal.authorize(p_namespace, 'writer'), p_ids) c;
end $$;
comment on function loci_api.clear_conversation_log(text, bigint[]) is
    'Take turns out of the log; how many, and how many were deleted, being older than what is replayed. Errors: '
    '42501, P0002.';

-- Turns leave the conversation log, exactly these; where a pass (p_pass) has read them, those that every pass has read
-- which the namespace has switched on. One that nothing has read stays. The last replayed_turns of a session stay for
-- replay; older ones are deleted. Sessions are locked in order, like their writers do.
create or replace function loci_internal.clear_turns(p_namespace_id integer, p_ids bigint[],
                                                     p_pass text default null)
returns table (cleared bigint, deleted bigint)
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_sessions text[];
    v_readers  text[] := case when p_pass is null then '{}' else loci_internal.turn_readers(p_namespace_id) end;
begin
    v_sessions := array(select distinct t.session_id from loci_data.conversation_turns t
                        where t.namespace_id = p_namespace_id and t.id = any (p_ids) and t.logged
                        order by t.session_id);
    for i in 1 .. cardinality(v_sessions) loop
        perform loci_internal.lock_session(p_namespace_id, v_sessions[i]);
    end loop;
    with done as (
        update loci_data.conversation_turns t
        set read_by = r.read_by, logged = not r.read_by @> v_readers
        from (select o.session_id, o.id,
                     case when p_pass is null or p_pass = any (o.read_by)
                          or p_pass <> all ('{entities,preferences}') then o.read_by
                          else o.read_by || p_pass end as read_by
              from loci_data.conversation_turns o
              where o.namespace_id = p_namespace_id and o.id = any (p_ids) and o.logged) r
        where t.namespace_id = p_namespace_id and t.session_id = r.session_id and t.id = r.id and t.logged
        returning t.logged
    )
    select count(*) filter (where not d.logged) into cleared from done d;
    deleted := loci_internal.delete_consumed_turns(p_namespace_id, v_sessions);
    return next;
end $$;
comment on function loci_internal.clear_turns(integer, bigint[], text) is
    'Take turns out of the conversation log that the passes have read.';

-- The passes that learn from turns of conversation and are switched on in a namespace.
create or replace function loci_internal.turn_readers(p_namespace_id integer) returns text[]
language sql stable set search_path = ''
as $$
    select array_remove(array[case when (s ->> 'dream_entities')::boolean then 'entities' end,
                              case when (s ->> 'dream_preferences')::boolean then 'preferences' end], null)
    from loci_internal.settings(p_namespace_id) s
$$;
comment on function loci_internal.turn_readers(integer) is
    'Passes that read the conversation log of a namespace.';

-- Turns of the conversation log that wait for nothing any more: some pass has read them, and so has each that is still
-- switched on. Index conversation_turns_log.
create or replace function loci_internal.turns_read_by_all(p_namespace_id integer) returns bigint[]
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select array(select t.id from loci_data.conversation_turns t
                 where t.namespace_id = p_namespace_id and t.logged and t.read_by <> '{}'
                   and t.read_by @> (select loci_internal.turn_readers(p_namespace_id)) order by t.id)
$$;
comment on function loci_internal.turns_read_by_all(integer) is
    'Turns of the log that every pass has read which is switched on.';

-- Delete the turns of sessions that nothing needs any more: consumed by the passes that read the log, and older than
-- the last replayed_turns. Those that keep an item of a store of sessions (metadata item) stay until that is cleared.
-- Index conversation_turns_consumed; rows are locked in the order of their numbers. How many went. No errors.
create or replace function loci_internal.delete_consumed_turns(p_namespace_id integer, p_session_ids text[])
returns bigint
language plpgsql volatile
as $$
declare
    v_replayed integer := loci_internal.settings(p_namespace_id) ->> 'replayed_turns';
    v_ids      bigint[];
begin
    v_ids := array(
        select t.id
        from (select distinct unnest(p_session_ids) as session_id) s
        cross join lateral (select o.id from loci_data.conversation_turns o  -- the newest that is not replayed any more
                            where o.namespace_id = p_namespace_id and o.session_id = s.session_id
                            order by o.id desc offset v_replayed limit 1) beyond
        cross join lateral (select o.id from loci_data.conversation_turns o
                            where o.namespace_id = p_namespace_id and o.session_id = s.session_id and not o.logged
                              and o.id <= beyond.id and not o.metadata ? 'item'
                            offset 0) t);
    if cardinality(v_ids) = 0 then
        return 0;
    end if;
    v_ids := array(select o.id from loci_data.conversation_turns o
                   where o.namespace_id = p_namespace_id and o.id = any (v_ids) order by o.id for update);
    delete from loci_data.conversation_turns o where o.namespace_id = p_namespace_id and o.id = any (v_ids);
    return cardinality(v_ids);
end $$;
comment on function loci_internal.delete_consumed_turns(integer, text[]) is
    'Delete consumed turns beyond the replayed ones.';
