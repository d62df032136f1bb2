-- What was left for later in a namespace, and what became of it? Jobs, newest first, a page at a time: p_cursor is the
-- id of the last one of the page before. By state and kind. Primary key, jobs_state or jobs_kind, whichever the
-- question is about: it is planned for each call. Security definer: read past the policies; checks the caller itself.
-- Errors: 42501, P0002, 22023 (limit, state).
create or replace function loci.list_jobs(
    p_namespace text, p_limit integer default 50, p_cursor uuid default null, p_state text default null,
    p_kind text default null)
returns table (id uuid, kind text, state text, arguments jsonb, tries integer, failures integer, postponed integer,
               agent_id uuid,
               created_at timestamptz, due_at timestamptz, started_at timestamptz, finished_at timestamptz, error text,
               result jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'reader');
    v_bound uuid := coalesce(p_cursor, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
begin
    perform loci_internal.check_page(p_limit);
    if p_state not in ('waiting', 'running', 'succeeded', 'dead', 'cancelled', 'skipped') then
        raise invalid_parameter_value using column = 'state',
            message = format('state must be waiting, running, succeeded, dead, cancelled or skipped, not %L', p_state);
    end if;
    return query
    select j.id, j.kind, j.state, j.arguments, j.tries, j.failures, j.postponed, j.agent_id, j.created_at, j.due_at,
           j.started_at,
           j.finished_at, j.error, j.result
    from loci_data.jobs j
    where j.namespace_id = v_ns and j.id < v_bound and (p_state is null or j.state = p_state)
      and (p_kind is null or j.kind = p_kind)
    order by j.id desc limit p_limit;
end $$;
comment on function loci.list_jobs(text, integer, uuid, text, text) is
    'Jobs of a namespace, newest first, by state and kind; the id of the last one pages. Errors: 42501, P0002, 22023.';
