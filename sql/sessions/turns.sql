-- Turns of conversations: added, listed, the last one deleted.

-- Append turns to a conversation, all or none. Numbers are drawn under the session's lock, so whoever sees a turn sees
-- every earlier one of its session. Each is in the log until a pass has consumed it. p_last: the number of the last
-- turn that the caller has seen, 0 for none; if another one is the last by now, nothing is written and no row comes
-- back, and the session stays locked, so that the caller may look again and then write. Security definer: writes past
-- the policies; checks the caller itself. Errors: 42501, P0002 (namespace), 22023 (session_id, turns[n].field).
create or replace function loci_api.add_turns(p_namespace text, p_session_id text, p_turns jsonb,
                                              p_last bigint default null)
returns table (id bigint, session_id text, role text, content text, metadata jsonb, said_at timestamptz)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'writer');
begin
    perform loci_internal.check_session(p_session_id);
    perform loci_internal.lock_session(v_ns, p_session_id);
    if p_last <> coalesce((select max(t.id) from loci_data.conversation_turns t
                           where t.namespace_id = v_ns and t.session_id = p_session_id), 0) then
        return;
    end if;
    return query
    insert into loci_data.conversation_turns
        as t (namespace_id, session_id, agent_id, role, content, metadata, said_at, document, terms)
    select v_ns, p_session_id, loci.current_agent(), i.role, i.content, i.metadata, i.said_at, d.document,
           loci_internal.count_terms(d.document)
    from loci_internal.parse_turns(p_turns, clock_timestamp()) i
    cross join lateral (select loci_internal.session_text_document(v_ns, i.content) as document offset 0) d
    order by i.ordinal
    returning t.id, t.session_id, t.role, t.content, t.metadata, t.said_at;
    perform loci_internal.delete_consumed_turns(v_ns, array[p_session_id]);
end $$;
comment on function loci_api.add_turns(text, text, jsonb, bigint) is
    'Append turns to a conversation, all or none; none where p_last is given and is not the number of its last turn. '
    'Errors: 42501, P0002, 22023.';

-- The turns of a write, typed and checked, in order. Each: role (1 to 64 characters), content (not blank, at most 1
-- MiB), metadata (an object), said_at (default: p_now). At most 1,000. Pure but for what it raises. Errors: 22023
-- naming field and value.
create or replace function loci_internal.parse_turns(p_turns jsonb, p_now timestamptz)
returns table (ordinal bigint, role text, content text, metadata jsonb, said_at timestamptz)
language plpgsql stable
as $$
declare
    v_wrong record;
begin
    if jsonb_typeof(p_turns) is distinct from 'array' or jsonb_array_length(p_turns) not between 1 and 1000 then
        raise invalid_parameter_value using message = 'turns must be a JSON array of 1 to 1,000 turns',
            column = 'turns';
    end if;
    select i.place - 1 as place, w.field, w.expected into v_wrong
    from jsonb_array_elements(p_turns) with ordinality i(item, place)
    cross join lateral (select i.item ->> 'role' as role, i.item ->> 'content' as content) t
    cross join lateral (values
        (1, 'role', 'text of 1 to 64 characters', jsonb_typeof(i.item -> 'role') = 'string' and length(t.role) <= 64
         and t.role ~ '\S'),
        (2, 'content', 'text that is not blank, of at most 1 MiB', jsonb_typeof(i.item -> 'content') = 'string'
             and octet_length(t.content) <= 1048576 and t.content ~ '\S'),
        (3, 'metadata', 'a JSON object', coalesce(jsonb_typeof(i.item -> 'metadata') in ('object', 'null'), true)),
        (4, 'said_at', 'a finite time', coalesce(jsonb_typeof(i.item -> 'said_at') = 'null'
             or pg_input_is_valid(i.item ->> 'said_at', 'timestamptz')
             and isfinite((i.item ->> 'said_at')::timestamptz), true))
    ) w(nth, field, expected, right_one)
    where w.right_one is not true order by i.place, w.nth limit 1;
    if found then
        raise invalid_parameter_value using column = format('turns[%s].%s', v_wrong.place, v_wrong.field),
            message = format('turns[%s].%s must be %s, not %s', v_wrong.place, v_wrong.field, v_wrong.expected,
                             coalesce(left((p_turns -> v_wrong.place::integer -> v_wrong.field)::text, 100),
                                      'missing'));
    end if;
    return query
    select i.place, i.item ->> 'role', i.item ->> 'content', coalesce(nullif(i.item -> 'metadata', 'null'), '{}'),
           coalesce((i.item ->> 'said_at')::timestamptz, p_now)
    from jsonb_array_elements(p_turns) with ordinality i(item, place);
end $$;
comment on function loci_internal.parse_turns(jsonb, timestamptz) is
    'JSON array of turns as typed rows. Errors: 22023.';

-- What was said last in a session? The last p_limit turns (default: replayed_turns), oldest first; p_cursor: those
-- before this number, to page back. A range of the primary key. Security definer: past the policies; checks the caller
-- itself. Errors: 42501, P0002 (namespace), 22023 (limit).
create or replace function loci.list_turns(p_namespace text, p_session_id text, p_limit integer default null,
                                           p_cursor bigint default null)
returns table (id bigint, session_id text, role text, content text, metadata jsonb, said_at timestamptz)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'reader');
    v_limit integer := coalesce(p_limit, (loci_internal.settings(v_ns) ->> 'replayed_turns')::integer);
begin
    perform loci_internal.check_page(coalesce(p_limit, 1));
    return query
    select l.id, l.session_id, l.role, l.content, l.metadata, l.said_at
    from (select t.* from loci_data.conversation_turns t
          where t.namespace_id = v_ns and t.session_id = p_session_id and t.id < coalesce(p_cursor, 9223372036854775807)
          order by t.id desc limit v_limit) l
    order by l.id;
end $$;
comment on function loci.list_turns(text, text, integer, bigint) is
    'The last turns of a session, oldest first; cursor pages back. Errors: 42501, P0002, 22023.';

-- Which conversations are there? In order of the session, page by page: p_cursor is the last session of the page
-- before. Steps from session to session over the primary key, and counts only those of the page. Security definer: past
-- the policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit).
create or replace function loci.list_conversations(p_namespace text, p_limit integer default 50,
                                                   p_cursor text default null)
returns table (session_id text, turns bigint, first_said_at timestamptz, last_said_at timestamptz, logged bigint)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    perform loci_internal.check_page(p_limit);
    return query
    with recursive session as (
        select 1 as place, (select t.session_id from loci_data.conversation_turns t where t.namespace_id = v_ns
                            and t.session_id > coalesce(p_cursor, '')
                            order by t.session_id, t.id limit 1) as name
        union all
        select s.place + 1, (select t.session_id from loci_data.conversation_turns t where t.namespace_id = v_ns
                             and t.session_id > s.name
                             order by t.session_id, t.id limit 1)
        from session s where s.name is not null and s.place < p_limit
    )
    select s.name, c.turns, c.first_said_at, c.last_said_at, c.logged
    from session s
    cross join lateral (select count(*) as turns, min(t.said_at) as first_said_at, max(t.said_at) as last_said_at,
                        count(*) filter (where t.logged) as logged
                        from loci_data.conversation_turns t where t.namespace_id = v_ns
                            and t.session_id = s.name offset 0) c
    where s.name is not null
    order by s.name;
end $$;
comment on function loci.list_conversations(text, integer, text) is
    'Conversations with the number and times of their turns, in order of the session; cursor pages. Errors: 42501, '
    'P0002, 22023.';

-- Which turns has no pass learned from yet? In order of their numbers, page by page: p_cursor is the last number of the
-- page before. A turn whose number was drawn earlier may be committed later, so a pass clears what it has read and
-- nothing else (clear_conversation_log); what it did not see is there at its next turn. Index conversation_turns_log.
-- Security definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit).
create or replace function loci.conversation_log(p_namespace text, p_limit integer default 1000,
                                                 p_cursor bigint default null)
returns table (id bigint, session_id text, role text, content text, metadata jsonb, said_at timestamptz)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    perform loci_internal.check_limit(p_limit, 10000);
    return query
    select t.id, t.session_id, t.role, t.content, t.metadata, t.said_at
    from loci_data.conversation_turns t
    where t.namespace_id = v_ns and t.logged and t.id > coalesce(p_cursor, 0)
    order by t.id limit p_limit;
end $$;
comment on function loci.conversation_log(text, integer, bigint) is
    'Turns that no pass has consumed, oldest first; cursor pages. Errors: 42501, P0002, 22023.';

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

-- Conversations, turn by turn. By session the primary key, by time conversation_turns_said. Under the
-- policies: rows of granted namespaces only.
create or replace view loci.turns with (security_invoker = true) as
select n.name as namespace, t.session_id, t.id, t.role, t.content, t.said_at, t.metadata, t.logged as waits, t.agent_id,
       loci.agent_name(t.agent_id) as agent
from loci_data.conversation_turns t
join loci_data.namespaces n on n.id = t.namespace_id;
comment on view loci.turns is 'Turns of conversations: what was said, when, and who wrote it down.';
comment on column loci.turns.namespace is 'Name of the namespace.';
comment on column loci.turns.session_id is 'The conversation.';
comment on column loci.turns.id is 'Number; within a conversation its order is that of the turns.';
comment on column loci.turns.role is 'Speaker: user, assistant, system, tool, ….';
comment on column loci.turns.content is 'The text.';
comment on column loci.turns.said_at is 'When.';
comment on column loci.turns.metadata is 'Any JSON object.';
comment on column loci.turns.waits is 'Whether passes that learn from turns have still to read it.';
comment on column loci.turns.agent_id is 'The agent that wrote it down.';
comment on column loci.turns.agent is 'Name of that agent.';
