-- A job is over, and says so in the transaction of its work: both are there or neither. p_state: succeeded, or skipped
-- with why (p_error). Security definer; checks the caller itself. Errors: 42501, P0002, 55000 (over), 22023.
create or replace function loci_api.finish_job(p_namespace text, p_id uuid, p_result jsonb default null,
                                               p_state text default 'succeeded', p_error text default null)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'admin');
begin
    if p_state is null or p_state not in ('succeeded', 'skipped') then
        raise invalid_parameter_value using column = 'state',
            message = format('state must be succeeded or skipped, not %L', p_state);
    end if;
    perform loci_api.lock_job(p_namespace, p_id);
    update loci_data.jobs j set state = p_state, finished_at = clock_timestamp(), result = p_result, error = p_error,
        due_at = null
    where j.namespace_id = v_ns and j.id = p_id;
end $$;
comment on function loci_api.finish_job(text, uuid, jsonb, text, text) is
    'Say that a job is over and what it did. Errors: 42501, P0002, 55000, 22023.';
