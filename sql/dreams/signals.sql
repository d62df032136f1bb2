-- Feedback signals on memories.

-- What was said about the agent's work? Newest first, of one kind or session or of all; cursor, on every row, is what
-- to send for the page that starts after it. Primary key. Security definer: past the policies; checks the caller
-- itself. Errors: 42501, P0002, 22023.
create or replace function loci.list_signals(
    p_namespace text, p_limit integer default 50, p_cursor text default null, p_kind text default null,
    p_session_id text default null)
returns table (id uuid, kind text, content text, session_id text, memory_id uuid, agent_id uuid, at timestamptz,
               cursor text)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_before uuid;
begin
    perform loci_internal.check_page(p_limit);
    v_before := coalesce((loci_internal.read_cursor(p_cursor, 'uuid'))[1], 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    return query
    select s.id, s.kind, s.content, s.session_id, s.memory_id, s.agent_id, s.at,
           loci_internal.make_cursor(jsonb_build_array(s.id))
    from loci_data.feedback_signals s
    where s.namespace_id = v_ns and s.id < v_before and (p_kind is null or s.kind = p_kind)
      and (p_session_id is null or s.session_id = p_session_id)
    order by s.id desc limit p_limit;
end $$;
comment on function loci.list_signals(text, integer, text, text, text) is
    'Feedback signals, newest first; cursor pages. Errors: 42501, P0002, 22023.';

-- Note what people and tools said about the agent's work: all or nothing, in order. p_signals: [{kind, content,
-- session_id?, memory_id?}]. Security definer: writes past the policies; checks the caller itself. Errors: 42501,
-- P0002, 22023 and 23514 (a field), 23503 (memory_id).
create or replace function loci_api.record_signals(p_namespace text, p_signals jsonb)
returns table (id uuid, kind text, content text, session_id text, memory_id uuid, agent_id uuid, at timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns   integer := loci_internal.authorize(p_namespace, 'writer');
    v_lost record;
begin
    select s.memory_id, s.place - 1 as place into v_lost
    from rows from (jsonb_to_recordset(p_signals) as (memory_id uuid)) with ordinality s(memory_id, place)
    where s.memory_id is not null
      and not exists (select from loci_data.memories m where m.namespace_id = v_ns and m.id = s.memory_id for key share)
    order by s.place limit 1;
    if found then
        raise foreign_key_violation using message = format('memory %s does not exist', v_lost.memory_id),
            column = format('signals[%s].memory_id', v_lost.place);
    end if;
    return query
    insert into loci_data.feedback_signals as f (namespace_id, id, kind, content, session_id, memory_id, agent_id)
    select v_ns, loci_api.uuid7(), s.kind, s.content, s.session_id, s.memory_id, loci.current_agent()
    from rows from (jsonb_to_recordset(p_signals) as (kind text, content text, session_id text, memory_id uuid))
         with ordinality s(kind, content, session_id, memory_id, place)
    order by s.place
    returning f.id, f.kind, f.content, f.session_id, f.memory_id, f.agent_id, f.at;
end $$;
comment on function loci_api.record_signals(text, jsonb) is
    'Note feedback signals, JSON array of {kind, content, session_id?, memory_id?}. Errors: 42501, P0002, 22023, '
    '23503, 23514.';

-- Which feedback signals does a consolidation learn from? The newest dream_signals of the last dream_signal_days days.
-- Index feedback_signals_at. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.recent_signals(p_namespace text)
returns table (id uuid, kind text, content text, memory_id uuid, at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'reader');
    v_settings jsonb := loci_internal.settings(v_ns);
begin
    return query
    select s.id, s.kind, s.content, s.memory_id, s.at from loci_data.feedback_signals s
    where s.namespace_id = v_ns and s.at > clock_timestamp() - (v_settings ->> 'dream_signal_days')::double precision
        * interval '24 hours'
    order by s.at desc, s.id desc limit (v_settings ->> 'dream_signals')::bigint;
end $$;
comment on function loci_api.recent_signals(text) is
    'Feedback signals that a consolidation learns from, newest first. Errors: 42501, P0002.';
