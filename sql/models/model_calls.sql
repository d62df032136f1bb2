-- Calls of language models: budget, reservation, usage.

-- May a model be called now, within the budget of the day (settings model_tokens and model_cost; the day is UTC's)?
-- Then the call is written down as running, with what it may use, so that calls side by side never overspend. Its id
-- and the tokens that its answer may have come back: p_completion_tokens, or what is left if that is less, down to
-- p_least. finish_model_call puts what was really used in their place. A call of which nobody has said within p_seconds
-- how it ended counts from then on with what such a call usually takes (settle_model_calls). Prices are of a million
-- tokens. Callers of a namespace take turns (take_turn, to the end of the transaction, which should do nothing else).
-- Called before every call of a model. Security definer: writes past the policies; checks the caller itself. Errors:
-- 42501, P0002, 22023 (seconds), 23514, 53400 (the budget is spent; its detail is the moment at which to ask again).
create or replace function loci_api.reserve_model_call(
    p_namespace text, p_job_id uuid, p_purpose text, p_model text, p_prompt_tokens integer, p_completion_tokens integer,
    p_least integer default null, p_prompt_price double precision default 0,
    p_completion_price double precision default 0, p_seconds double precision default 900)
returns table (id uuid, completion_tokens integer)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'writer');
    v_least  integer := least(p_completion_tokens, coalesce(p_least, p_completion_tokens));
    v_price  numeric := p_completion_price::numeric / 1000000;
    v_prompt numeric := p_prompt_tokens * p_prompt_price::numeric / 1000000;
    v_today  date;
    v_used   record;
    v_tokens numeric;  -- what is left for the answer; null: any number
    v_cost   numeric;
    v_usual  integer;
begin
    if p_seconds is null or p_seconds not between 0 and 86400 then
        raise invalid_parameter_value using column = 'seconds',
            message = format('seconds must be between 0 and 86400, not %s', p_seconds);
    end if;
    perform loci_internal.take_turn(v_ns, 'model calls');
    perform loci_internal.settle_lost_calls(array[v_ns]);
    v_today := (clock_timestamp() at time zone 'UTC')::date;
    select d.* into v_used from loci_internal.model_calls_of_day(v_ns, v_today) d;
    v_tokens := v_used.most_tokens - v_used.prompt_tokens - v_used.completion_tokens - p_prompt_tokens;
    v_cost := v_used.most_cost - v_used.cost - v_prompt;
    if v_tokens < v_least then
        perform loci_internal.refuse_model_call('model_tokens', format(
            'models have used %s of %s tokens (setting model_tokens), and this call may need %s',
            v_used.prompt_tokens + v_used.completion_tokens, v_used.most_tokens, p_prompt_tokens + v_least),
            v_today, v_tokens + v_used.held_tokens >= v_least);
    elsif v_cost < v_least * v_price then
        perform loci_internal.refuse_model_call('model_cost', format(
            'calls of models have cost %s of %s (setting model_cost), and this call may cost %s',
            round(v_used.cost, 6), v_used.most_cost, round(v_prompt + v_least * v_price, 6)),
            v_today, v_cost + v_used.held_cost >= v_least * v_price);
    end if;
    id := loci_api.uuid7();
    completion_tokens := least(p_completion_tokens, v_tokens, floor(v_cost / nullif(v_price, 0)));
    v_usual := loci_internal.usual_completion(v_ns, p_purpose, completion_tokens);
    insert into loci_data.model_calls (namespace_id, id, job_id, purpose, model, prompt_tokens, completion_tokens, cost,
                                       usual_tokens, usual_cost, ends_by)
    values (v_ns, id, p_job_id, p_purpose, p_model, p_prompt_tokens, completion_tokens,
            trim_scale(v_prompt + completion_tokens * v_price), v_usual, trim_scale(v_prompt + v_usual * v_price),
            clock_timestamp() + p_seconds * interval '1 second');
    return next;
end $$;
comment on function loci_api.reserve_model_call(text, uuid, text, text, integer, integer, integer, double precision,
                                                double precision, double precision) is
    'Write down that a model is called, with what that may use of the day''s budget. Errors: 42501, P0002, 22023, '
    '23514, 53400 (spent; the detail says until when).';

-- Refuse a call of a model: the day's budget is spent. The detail is the moment at which to ask again: soon, where
-- calls that run may give back enough (p_enough_is_held), else when the next day begins. Errors: 53400.
create or replace function loci_internal.refuse_model_call(p_setting text, p_use text, p_day date,
                                                           p_enough_is_held boolean) returns void
language plpgsql stable set search_path = ''
as $$
begin
    raise configuration_limit_exceeded using column = 'settings.' || p_setting,
        message = 'the day''s budget is spent: ' || p_use,
        detail = to_json(case when p_enough_is_held then clock_timestamp() + interval '1 minute'
                              else (p_day + 1)::timestamp at time zone 'UTC' end) #>> '{}',
        hint = 'Wait for the next day (UTC), or raise the setting.';
end $$;
comment on function loci_internal.refuse_model_call(text, text, date, boolean) is
    'Raise 53400: the day''s budget for models is spent; the detail says until when.';

-- How many tokens does an answer to such a question usually have? As many as the last twenty had on average; a
-- quarter of what it may have where there was none yet. Range of the primary key, newest first, at most 200 rows.
create or replace function loci_internal.usual_completion(p_namespace_id integer, p_purpose text, p_most integer)
returns integer
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select least(p_most, coalesce(ceil(avg(u.completion_tokens)), ceil(p_most / 4.0)))::integer
    from (select c.completion_tokens
          from (select l.* from loci_data.model_calls l where l.namespace_id = p_namespace_id
                order by l.id desc limit 200) c
          where c.purpose = p_purpose and c.state = 'succeeded' order by c.id desc limit 20) u
$$;
comment on function loci_internal.usual_completion(integer, text, integer) is
    'Tokens that an answer for a purpose usually has, at most p_most.';

-- Say what a call of a model has used: its tokens (p_estimated: reckoned, because the endpoint did not count; null:
-- nobody knows, so what was sent counts, and what such an answer usually has), and why it failed (p_error; null: it
-- succeeded). Prices are of a million tokens. A call that was ended before stays as it is, unless it was only taken
-- for lost. Primary key. Called after every call. Security definer: writes past the policies; checks the caller
-- itself. Errors: 42501, P0002, 23514. Returns what it cost, and the tokens that count.
create or replace function loci_api.finish_model_call(
    p_namespace text, p_id uuid, p_prompt_tokens integer, p_completion_tokens integer, p_estimated boolean,
    p_took_ms integer,
    p_error text default null, p_prompt_price double precision default 0, p_completion_price double precision default 0,
    out cost numeric, out prompt_tokens integer, out completion_tokens integer)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'writer');
begin
    update loci_data.model_calls c
    set state = case when p_error is null then 'succeeded' else 'failed' end, took_ms = p_took_ms,
        prompt_tokens = u.prompt, completion_tokens = u.completion, error = left(p_error, 500),
        estimated = p_estimated or p_prompt_tokens is null or p_completion_tokens is null,
        cost = trim_scale((u.prompt * p_prompt_price::numeric + u.completion * p_completion_price::numeric) / 1000000)
    from (select k.id, coalesce(p_prompt_tokens, k.prompt_tokens) as prompt,
                 coalesce(p_completion_tokens, k.usual_tokens) as completion
          from loci_data.model_calls k where k.namespace_id = v_ns and k.id = p_id) u
    where c.namespace_id = v_ns and c.id = u.id and c.took_ms is null
    returning c.cost, c.prompt_tokens, c.completion_tokens
    into finish_model_call.cost, finish_model_call.prompt_tokens, finish_model_call.completion_tokens;
    if not found then
        raise no_data_found using message = format('model call %s is not running', p_id), column = 'id';
    end if;
end $$;
comment on function loci_api.finish_model_call(text, uuid, integer, integer, boolean, integer, text, double precision,
                                               double precision) is
    'Say what a call of a model has used, and whether it failed; what it cost. Errors: 42501, P0002, 23514.';

-- Calls of models of which nobody has said in time how they ended (their process was killed) end as failed, with what
-- such calls usually take instead of the most that they might. How many. If its maker is only late, finish_model_call
-- still records the real usage. Index model_calls_running, which holds what runs. Security definer; the operator's.
-- Errors: 42501.
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

-- Which calls of models were made, for what, and what did they cost? Newest first, a page at a time: p_cursor is the id
-- of the last one of the page before. Calls of one purpose, or of one job. Primary key, or index model_calls_job: it is
-- planned for each call. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023
-- (limit).
create or replace function loci.list_model_calls(
    p_namespace text, p_limit integer default 50, p_cursor uuid default null, p_purpose text default null,
    p_job_id uuid default null)
returns table (id uuid, job_id uuid, purpose text, model text, state text, started_at timestamptz, took_ms integer,
               prompt_tokens integer, completion_tokens integer, estimated boolean, cost numeric, error text)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    perform loci_internal.check_page(p_limit);
    return query
    select c.id, c.job_id, c.purpose, c.model, c.state, c.started_at, c.took_ms, c.prompt_tokens, c.completion_tokens,
           c.estimated, c.cost, c.error
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
               cost numeric, held_tokens bigint, held_cost numeric, most_tokens bigint, most_cost numeric)
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

-- What have calls of models used on a day (UTC; default: today), and what is left of its budget (settings model_tokens
-- and model_cost)? Null limits: none. Calls that run count with what they reserved. Index model_calls_started. Security
-- definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci.model_usage(p_namespace text, p_day date default null)
returns table (day date, calls bigint, running bigint, failed bigint, prompt_tokens bigint, completion_tokens bigint,
               cost numeric, token_limit bigint, tokens_left bigint, cost_limit numeric, cost_left numeric)
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
