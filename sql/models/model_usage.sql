-- What have calls of models used on a day (UTC; default: today), and what is left of its budget (settings model_tokens
-- and model_cost)? Null limits: none. Calls that run count with what they reserved. Index model_calls_started. Security
-- definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci.model_usage(p_namespace text, p_day date default null)
returns table (day date, calls bigint, running bigint, failed bigint, prompt_tokens bigint, completion_tokens bigint,
               cost numeric,
               token_limit bigint, tokens_left bigint, cost_limit numeric, cost_left numeric)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'reader');
    v_day date := coalesce(p_day, (clock_timestamp() at time zone 'UTC')::date);
begin
    return query
    select v_day, d.calls, d.running, d.failed, d.prompt_tokens, d.completion_tokens, d.cost,
           d.most_tokens, case when d.most_tokens is not null
               then greatest(0, d.most_tokens - d.prompt_tokens - d.completion_tokens) end,
           d.most_cost, case when d.most_cost is not null then greatest(0, d.most_cost - d.cost) end
    from loci_internal.model_calls_of_day(v_ns, v_day) d;
end $$;
comment on function loci.model_usage(text, date) is
    'Calls of models on a day (UTC): tokens, cost, and what is left of the budget. Errors: 42501, P0002.';
