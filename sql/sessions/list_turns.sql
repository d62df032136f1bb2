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
