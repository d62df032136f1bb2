-- What have ended sessions changed? Newest first, of one session or of all; cursor, on every row, is what to
-- send for the page that starts after it. Primary key, or index feedback_events_session. Security definer: past the
-- policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit, cursor).
create or replace function loci.list_feedback(
    p_namespace text, p_session_id text default null, p_limit integer default 50, p_cursor text default null)
returns table (id uuid, at timestamptz, agent_id uuid, session_id text, kind text, aspects integer,
               confirmations integer,
               change double precision, cursor text)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_before       uuid;
begin
    perform loci_internal.check_page(p_limit);
    v_before := coalesce((loci_internal.read_cursor(p_cursor, 'uuid'))[1], 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    return query
    select f.id, f.at, f.agent_id, f.session_id, f.kind, f.aspects, f.confirmations, f.change,
           loci_internal.make_cursor(jsonb_build_array(f.id))
    from loci_data.feedback_events f
    where f.namespace_id = v_namespace_id and f.id < v_before and (p_session_id is null or f.session_id = p_session_id)
    order by f.id desc limit p_limit;
end $$;
comment on function loci.list_feedback(text, text, integer, text) is
    'Changes in the weights of aspects by ended sessions, newest first; cursor pages. Errors: 42501, P0002, '
    '22023.';
