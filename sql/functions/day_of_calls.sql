-- What have calls of models used on a day (UTC), and what may they (settings model_tokens and model_cost; null: any)? Calls that run count
-- with what they reserved. held: of those that have run for less than 15 minutes, longer than a call may take, so some of it may come back. The
-- rest of them were lost with their worker. Index model_calls_started: one day of the namespace is read. Called by reserve_call and model_usage; internal.
create or replace function loci.day_of_calls(p_namespace_id integer, p_day date)
returns table (calls bigint, running bigint, failed bigint, prompt_tokens bigint, completion_tokens bigint, cost numeric,
               held_tokens bigint, held_cost numeric, most_tokens bigint, most_cost numeric)
language sql stable set search_path = ''
as $$
    select count(*), count(*) filter (where c.state = 'running'), count(*) filter (where c.state = 'failed'),
           coalesce(sum(c.prompt_tokens), 0), coalesce(sum(c.completion_tokens), 0), trim_scale(coalesce(sum(c.cost), 0)),
           coalesce(sum(c.prompt_tokens + c.completion_tokens) filter (where h.held), 0), coalesce(sum(c.cost) filter (where h.held), 0),
           (select nullif(floor((loci.settings(p_namespace_id) ->> 'model_tokens')::numeric), 0)::bigint),
           (select nullif((loci.settings(p_namespace_id) ->> 'model_cost')::numeric, 0))
    from loci_data.model_calls c
    cross join lateral (select c.state = 'running' and c.started_at > clock_timestamp() - interval '15 minutes' as held) h
    where c.namespace_id = p_namespace_id and c.started_at >= p_day::timestamp at time zone 'UTC'
      and c.started_at < (p_day + 1)::timestamp at time zone 'UTC'
$$;
comment on function loci.day_of_calls(integer, date) is 'What calls of models have used on a day, and what they may. Internal.';
