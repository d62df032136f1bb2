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
