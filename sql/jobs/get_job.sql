-- A job: how it stands, the reports of its passes in their order, and what its calls of a language model took. Primary
-- key, pass_runs_job_key, model_calls_job. Security definer: read past the policies; checks the caller itself. Errors:
-- 42501, P0002.
create or replace function loci.get_job(p_namespace text, p_id uuid)
returns table (id uuid, kind text, state text, arguments jsonb, tries integer, failures integer, postponed integer,
               agent_id uuid,
               created_at timestamptz, due_at timestamptz, started_at timestamptz, finished_at timestamptz, error text,
               result jsonb,
               passes jsonb, calls jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    select j.id, j.kind, j.state, j.arguments, j.tries, j.failures, j.postponed, j.agent_id, j.created_at, j.due_at,
           j.started_at,
           j.finished_at, j.error, j.result,
           (select coalesce(jsonb_agg(to_jsonb(r) - array['namespace_id', 'job_id', 'corpus', 'shown'] order by r.id),
                            '[]')
            from loci_data.pass_runs r where r.namespace_id = v_ns and r.job_id = p_id),
           (select jsonb_build_object('calls', count(*), 'prompt_tokens', coalesce(sum(c.prompt_tokens), 0),
                                      'completion_tokens', coalesce(sum(c.completion_tokens), 0), 'cost',
                                          coalesce(sum(c.cost), 0),
                                      'took_ms', coalesce(sum(c.took_ms), 0))
            from loci_data.model_calls c where c.namespace_id = v_ns and c.job_id = p_id)
    from loci_data.jobs j where j.namespace_id = v_ns and j.id = p_id;
    if not found then
        raise no_data_found using message = format('job %s does not exist', p_id), column = 'id',
            hint = 'Jobs are kept for the setting job_days after their end.';
    end if;
end $$;
comment on function loci.get_job(text, uuid) is
    'A job with the reports of its passes and what its calls of a language model took. Errors: 42501, P0002.';
