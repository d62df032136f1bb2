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
