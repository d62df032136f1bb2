-- Erasure of turns: those that all readers have read, and those asked for.

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

-- Delete a conversation, its part of the log included; how many turns. Waits for a write under way in the session, so
-- that nothing of it comes after. Words about it in reports of passes go, too. Security definer: writes past
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
    perform loci_internal.erase_turns(v_ns, v_ids);
    return query select cardinality(v_ids)::bigint;
end $$;
comment on function loci_api.delete_turns(text, text) is
    'Delete the turns of a session; how many. Errors: 42501, P0002.';

-- Delete turns for good, with what else says them: reports of passes that read them, and kept replies that quote them,
-- which say so from now on (a short turn, only where it is a whole content). The caller has locked them. Reads the
-- replies that are kept.
create or replace function loci_internal.erase_turns(p_namespace_id integer, p_ids bigint[]) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_quotes text[];
begin
    with gone as (
        delete from loci_data.conversation_turns t where t.namespace_id = p_namespace_id and t.id = any (p_ids)
        returning to_jsonb(t.content)::text as said
    )
    select array_agg(case when length(g.said) > 20 then btrim(g.said, '"') else '"content": ' || g.said end)
    into v_quotes from gone g;
    perform loci_internal.erase_idempotent_replies(p_namespace_id, '{}', v_quotes);
    perform loci_internal.erase_pass_plans(p_namespace_id, p_ids);
end $$;
comment on function loci_internal.erase_turns(integer, bigint[]) is
    'Delete turns, and what reports and kept replies say of them.';

-- Which turns hold all the words of one of these memories, of any version of them? Their words in the language of the
-- namespace (session_words), little ones left out, so the order and form of words do not matter. Each of many
-- memories is looked for where its rarest word is. Reads the words of the turns of the namespace.
create or replace function loci_internal.turns_with_words(p_namespace_id integer, p_memories uuid[])
returns table (session_id text, id bigint)
language plpgsql stable set search_path = '' set enable_seqscan = off
as $$
declare
    v_texts tsvector[] := array(
        select distinct w.document from loci_data.memories m
        cross join lateral loci_internal.session_words(p_namespace_id, m.content) w(document)
        where m.namespace_id = p_namespace_id and m.id = any (p_memories) and w.document <> '');
    v_any   tsquery;
begin
    if cardinality(v_texts) <= 20 then
        select string_agg('(' || loci_internal.and_tsquery(d)::text || ')', ' | ')::tsquery into v_any
        from unnest(v_texts) d;
        return query
        select t.session_id, t.id from loci_data.conversation_turns t
        where t.namespace_id = p_namespace_id and t.document @@ v_any;
        return;
    end if;
    return query
    with wanted as materialized (
        select d.nth, loci_internal.and_tsquery(d.document) as words, u.lexeme
        from unnest(v_texts) with ordinality d(document, nth) cross join lateral unnest(d.document) u
    ), held as materialized (
        select u.lexeme, array_agg(t.id) as ids from loci_data.conversation_turns t
        cross join lateral unnest(t.document) u
        where t.namespace_id = p_namespace_id and u.lexeme in (select w.lexeme from wanted w) group by u.lexeme
    ), rarest as (
        select distinct on (w.nth) w.nth, w.words, h.ids from wanted w left join held h on h.lexeme = w.lexeme
        order by w.nth, coalesce(cardinality(h.ids), 0), w.lexeme
    )
    select distinct t.session_id, t.id
    from rarest r cross join lateral unnest(r.ids) i(id)
    cross join lateral (select o.session_id, o.id, o.document from loci_data.conversation_turns o
                        where o.namespace_id = p_namespace_id and o.id = i.id limit 1) t
    where t.document @@ r.words;
end $$;
comment on function loci_internal.turns_with_words(integer, uuid[]) is
    'Turns that hold all the words of one of these memories.';

-- A query that needs all words of a document. Pure.
create or replace function loci_internal.and_tsquery(p_document tsvector) returns tsquery
language sql immutable parallel safe
as $$
    select replace(loci_internal.or_tsquery(tsvector_to_array(p_document))::text, ' | ', ' & ')::tsquery
$$;
comment on function loci_internal.and_tsquery(tsvector) is
    'Words as an AND query; null for none.';
