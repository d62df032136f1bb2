-- Has a job run this pass already, did it leave something for another (more), how many things was it shown, and what
-- has the pass left behind? corpora are the hashes after its runs of the last dream_unchanged_days days, one for each
-- page. Dry runs, failures and stopped passes do not count. Index pass_runs_pass. Security definer: past the policies;
-- checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.last_pass(p_namespace text, p_name text, p_job_id uuid)
returns table (done boolean, more boolean, shown integer, corpora text[])
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    select count(*) > 0, coalesce(bool_or(d.more), false), coalesce(max(d.shown), 0),
           array(
            select distinct r.corpus from loci_data.pass_runs r
            where r.namespace_id = v_ns and r.pass = p_name and r.outcome = 'applied' and r.corpus is not null
              and r.finished_at > clock_timestamp()
                  - (loci_internal.settings(v_ns) ->> 'dream_unchanged_days')::double precision * interval '24 hours')
    from loci_data.pass_runs d
    where d.namespace_id = v_ns and d.job_id = p_job_id and d.pass = p_name and d.outcome <> 'failed';
end $$;
comment on function loci_api.last_pass(text, text, uuid) is
    'Whether a job has run a pass and left something for another, and the hashes of what its recent runs left. '
    'Errors: 42501, P0002.';
