-- Calls of models of which nobody has said in time how they ended (their process was killed) end as failed, with what
-- such calls usually take instead of the most that they might. How many. If whoever made one is only late,
-- finish_model_call still puts what was really used in its place. Index model_calls_running, which holds what runs.
-- Security definer; the operator's. Errors: 42501.
create or replace function loci_api.settle_model_calls() returns bigint
language plpgsql volatile security definer set search_path = ''
as $$
begin
    perform loci_internal.require_operator('settle calls of models');
    return loci_internal.settle_lost_calls((select array_agg(distinct c.namespace_id) from loci_data.model_calls c
                                            where c.state = 'running' and c.ends_by < clock_timestamp()));
end $$;
comment on function loci_api.settle_model_calls() is
    'End calls of models whose process was lost, at what such calls usually take; how many. Operator only. Errors: '
    '42501.';

-- End the calls of these namespaces that are past their time, and those of a job whose worker was lost (p_job_id).
-- Calls that somebody ends at this moment are passed by.
create or replace function loci_internal.settle_lost_calls(p_namespaces integer[], p_job_id uuid default null)
returns bigint
language sql volatile set search_path = '' set enable_seqscan = off
as $$
    with lost as materialized (
        select c.namespace_id, c.id from loci_data.model_calls c
        where c.namespace_id = any (p_namespaces) and c.state = 'running'
          and (c.ends_by < clock_timestamp() or c.job_id = p_job_id)
        order by c.namespace_id, c.id for update skip locked
    ), settled as (
        update loci_data.model_calls c
        set state = 'failed', error = 'whoever made the call was lost', estimated = true,
            completion_tokens = c.usual_tokens, cost = c.usual_cost
        from lost l where c.namespace_id = l.namespace_id and c.id = l.id returning 1
    )
    select count(*) from settled
$$;
comment on function loci_internal.settle_lost_calls(integer[], uuid) is
    'End calls of models that are past their time, or of a job that lost its worker; how many.';
