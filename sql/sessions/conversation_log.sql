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
