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
