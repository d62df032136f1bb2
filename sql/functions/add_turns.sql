-- Append turns to a conversation, all or none (row W3). Numbers are drawn under the session's lock, so whoever sees a turn sees every earlier one of
-- its session. Each is in the log until a pass has consumed it. Security definer: writes past the policies; checks the caller itself.
-- Called by POST /conversations/{session}/turns. Errors: 42501, P0002 (namespace), 22023 (session_id, turns[n].field).
create or replace function loci.add_turns(p_namespace text, p_session_id text, p_turns jsonb)
returns table (id bigint, session_id text, role text, content text, metadata jsonb, said_at timestamptz)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns integer := loci.authorize(p_namespace, 'writer');
begin
    perform loci.check_session(p_session_id);
    perform loci.lock_session(v_ns, p_session_id);
    return query
    insert into loci_data.conversation_turns as t (namespace_id, session_id, agent_id, role, content, metadata, said_at, document, terms)
    select v_ns, p_session_id, loci.caller(), i.role, i.content, i.metadata, i.said_at, d.document, loci.count_terms(d.document)
    from loci.parse_turns(p_turns, clock_timestamp()) i
    cross join lateral (select loci.tier_document(v_ns, i.content) as document offset 0) d
    order by i.ordinal
    returning t.id, t.session_id, t.role, t.content, t.metadata, t.said_at;
    perform loci.drop_turns(v_ns, array[p_session_id]);
end $$;
comment on function loci.add_turns(text, text, jsonb) is 'Append turns to a conversation, all or none. Errors: 42501, P0002, 22023.';
