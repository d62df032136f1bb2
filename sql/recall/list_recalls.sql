-- Which recalls were logged? Newest first, of one session or of all; cursor, on every row, is what to send
-- for the page that starts after it. useful and useless count what was said of the results. Primary key, or index
-- recalls_session. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit,
-- cursor).
create or replace function loci.list_recalls(
    p_namespace text, p_session_id text default null, p_limit integer default 50, p_cursor text default null)
returns table (id uuid, at timestamptz, agent_id uuid, session_id text, query text, arms text[], fusion text,
               k integer, filters jsonb,
               as_of timestamptz, known_at timestamptz, skipped jsonb, results integer, took_ms double precision,
               useful bigint, useless bigint, cursor text)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_before       uuid;
begin
    perform loci_internal.check_page(p_limit);
    v_before := coalesce((loci_internal.read_cursor(p_cursor, 'uuid'))[1], 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    return query
    select r.id, r.at, r.agent_id, r.session_id, r.query, r.arms, r.fusion, r.k, r.filters, r.as_of, r.known_at,
           r.skipped, r.results, r.took_ms,
           f.useful, f.useless, loci_internal.make_cursor(jsonb_build_array(r.id))
    from (select l.* from loci_data.recalls l
          where l.namespace_id = v_namespace_id and l.id < v_before
            and (p_session_id is null or l.session_id = p_session_id)
          order by l.id desc limit p_limit) r
    cross join lateral (select count(*) filter (where x.useful) as useful,
                        count(*) filter (where not x.useful) as useless
                        from loci_data.recall_results x where x.namespace_id = v_namespace_id and x.recall_id = r.id) f
    order by r.id desc;
end $$;
comment on function loci.list_recalls(text, text, integer, text) is
    'Logged recalls, newest first; cursor pages. Errors: 42501, P0002, 22023.';
