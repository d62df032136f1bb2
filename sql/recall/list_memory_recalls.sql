-- When was a memory recalled, and what became of that? Logged recalls that had this version in their answer, newest
-- first: its rank and score there, whether the session was shown it (injected_at) and found it again (hits), and how it
-- was rated. cursor, on every row, is what to send for the page that starts after it. Index recall_results_memory, one
-- probe of recalls and of injections a row. Security definer: past the policies; checks the caller itself. Errors:
-- 42501, P0002, 22023 (limit, cursor).
create or replace function loci.list_memory_recalls(p_namespace text, p_id uuid, p_limit integer default 50,
                                                    p_cursor text default null)
returns table (recall_id uuid, at timestamptz, agent_id uuid, session_id text, query text, rank integer,
               score double precision, arms jsonb, injected_at timestamptz, hits integer, last_hit_at timestamptz,
               useful boolean, note text, rated_at timestamptz, rated_by uuid, cursor text)
language plpgsql stable security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_before uuid;
begin
    perform loci_internal.check_page(p_limit);
    v_before := coalesce((loci_internal.read_cursor(p_cursor, 'uuid'))[1], 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    if not exists (select from loci_data.memories m where m.namespace_id = v_ns and m.id = p_id) then
        raise no_data_found using message = format('memory %s does not exist', p_id), column = 'id';
    end if;
    return query
    select r.id, r.at, r.agent_id, r.session_id, r.query, x.rank, x.score, x.arms,
           case when i.injected_at >= r.at then i.injected_at end, i.hits, i.last_hit_at,
           x.useful, x.note, x.rated_at, x.rated_by, loci_internal.make_cursor(jsonb_build_array(r.id))
    from loci_data.recall_results x
    join loci_data.recalls r on r.namespace_id = x.namespace_id and r.id = x.recall_id
    left join loci_data.injections i on i.namespace_id = x.namespace_id and i.session_id = r.session_id
         and i.memory_id = x.memory_id
    where x.namespace_id = v_ns and x.memory_id = p_id and x.recall_id < v_before
    order by x.recall_id desc limit p_limit;
end $$;
comment on function loci.list_memory_recalls(text, uuid, integer, text) is
    'Logged recalls that had a memory in their answer, newest first, with its rating; cursor pages. Errors: 42501, '
    'P0002, 22023.';
