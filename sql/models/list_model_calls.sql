-- Which calls of models were made, for what, and what did they cost? Newest first, a page at a time: p_cursor is the id
-- of the last one of the page before. Calls of one purpose, or of one job. Primary key, or index model_calls_job: it is
-- planned for each call. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023
-- (limit).
create or replace function loci.list_model_calls(
    p_namespace text, p_limit integer default 50, p_cursor uuid default null, p_purpose text default null,
    p_job_id uuid default null)
returns table (id uuid, job_id uuid, purpose text, model text, state text, started_at timestamptz, took_ms integer,
               prompt_tokens integer,
               completion_tokens integer, estimated boolean, cost numeric, error text)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    perform loci_internal.check_page(p_limit);
    return query
    select c.id, c.job_id, c.purpose, c.model, c.state, c.started_at, c.took_ms, c.prompt_tokens, c.completion_tokens,
           c.estimated,
           c.cost, c.error
    from loci_data.model_calls c
    where c.namespace_id = v_ns and c.id < coalesce(p_cursor, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
      and (p_purpose is null or c.purpose = p_purpose) and (p_job_id is null or c.job_id = p_job_id)
    order by c.id desc limit p_limit;
end $$;
comment on function loci.list_model_calls(text, integer, uuid, text, uuid) is
    'Calls of models, newest first; the id of the last one pages. Errors: 42501, P0002, 22023.';

-- What have calls of models used on a day (UTC), and what may they (settings model_tokens and model_cost; null: any)?
-- Calls that run count with what they reserved. held: of those that have run for less than 15 minutes, longer than a
-- call may take, so some of it may come back. The rest of them were lost with their worker. Index model_calls_started:
-- one day of the namespace is read.
create or replace function loci_internal.model_calls_of_day(p_namespace_id integer, p_day date)
returns table (calls bigint, running bigint, failed bigint, prompt_tokens bigint, completion_tokens bigint,
               cost numeric,
               held_tokens bigint, held_cost numeric, most_tokens bigint, most_cost numeric)
language sql stable set search_path = ''
as $$
    select count(*), count(*) filter (where c.state = 'running'), count(*) filter (where c.state = 'failed'),
           coalesce(sum(c.prompt_tokens), 0), coalesce(sum(c.completion_tokens), 0),
           trim_scale(coalesce(sum(c.cost), 0)),
           coalesce(sum(c.prompt_tokens + c.completion_tokens) filter (where h.held), 0),
           coalesce(sum(c.cost) filter (where h.held), 0),
           (select nullif(floor((loci_internal.settings(p_namespace_id) ->> 'model_tokens')::numeric), 0)::bigint),
           (select nullif((loci_internal.settings(p_namespace_id) ->> 'model_cost')::numeric, 0))
    from loci_data.model_calls c
    cross join lateral (select c.state = 'running'
                        and c.started_at > clock_timestamp() - interval '15 minutes' as held) h
    where c.namespace_id = p_namespace_id and c.started_at >= p_day::timestamp at time zone 'UTC'
      and c.started_at < (p_day + 1)::timestamp at time zone 'UTC'
$$;
comment on function loci_internal.model_calls_of_day(integer, date) is
    'Use of models on a day, and the budget.';
