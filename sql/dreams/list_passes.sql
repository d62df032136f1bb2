-- What have the passes done? Their reports, newest first, a page at a time: p_cursor is the id of the last one of the
-- page before. Reports of one pass (p_name), or of one job. Primary key, pass_runs_pass or pass_runs_job_key, whichever
-- the question is about: it is planned for each call. Security definer: past the policies; checks the caller itself.
-- Errors: 42501, P0002, 22023 (limit, name).
create or replace function loci.list_passes(
    p_namespace text, p_limit integer default 50, p_cursor uuid default null, p_name text default null,
    p_job_id uuid default null)
returns table (id uuid, job_id uuid, pass text, outcome text, operation_id uuid, started_at timestamptz,
               finished_at timestamptz,
               seen integer, proposed integer, applied integer, refused jsonb, changes jsonb, error text)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    perform loci_internal.check_page(p_limit);
    if p_name not in ('memories', 'entities', 'preferences', 'graph', 'contradictions', 'enrichment') then
        raise invalid_parameter_value using column = 'name',
            message = format(
                'name must be memories, entities, preferences, graph, contradictions or enrichment, not %L', p_name);
    end if;
    return query
    select r.id, r.job_id, r.pass, r.outcome, r.operation_id, r.started_at, r.finished_at, r.seen, r.proposed,
           r.applied, r.refused, r.changes, r.error
    from loci_data.pass_runs r
    where r.namespace_id = v_ns and r.id < coalesce(p_cursor, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
      and (p_name is null or r.pass = p_name) and (p_job_id is null or r.job_id = p_job_id)
    order by r.id desc limit p_limit;
end $$;
comment on function loci.list_passes(text, integer, uuid, text, uuid) is
    'Reports of passes, newest first, of one pass or job if asked; the id of the last one pages. Errors: 42501, '
    'P0002, 22023.';
