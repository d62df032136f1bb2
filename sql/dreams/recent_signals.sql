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
