-- Has a job run this pass already, did it leave turns in the log (more), and what did the newest run of the pass leave
-- behind? corpus is the hash after it, null where there was none in the last dream_unchanged_days days. Dry runs,
-- failures and stopped passes do not count. Index pass_runs_pass. Security definer: past the policies; checks the
-- caller itself. Errors: 42501, P0002.
create or replace function loci_api.last_pass(p_namespace text, p_name text, p_job_id uuid)
returns table (done boolean, more boolean, corpus text)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    select count(*) > 0, coalesce(bool_or(d.more), false),
           (select r.corpus from loci_data.pass_runs r
            where r.namespace_id = v_ns and r.pass = p_name and r.outcome = 'applied'
              and r.finished_at > clock_timestamp()
                  - (loci_internal.settings(v_ns) ->> 'dream_unchanged_days')::double precision * interval '24 hours'
            order by r.id desc limit 1)
    from loci_data.pass_runs d
    where d.namespace_id = v_ns and d.job_id = p_job_id and d.pass = p_name and d.outcome <> 'failed';
end $$;
comment on function loci_api.last_pass(text, text, uuid) is
    'Whether a job has run a pass and left turns in the log, and the hash of what its newest run left, if that is '
    'recent. Errors: 42501, P0002.';
