-- May a model be called now, within the budget of the day (settings model_tokens and model_cost; the day is UTC's)?
-- Then the call is written down as running, with what it may use, so that calls side by side never overspend. Its id
-- and the tokens that its answer may have come back: p_completion_tokens, or what is left if that is less, down to
-- p_least. finish_model_call puts what was really used in their place. A call of which nobody has said within
-- p_seconds how it ended counts from then on with what such a call usually takes (settle_model_calls). Prices are of
-- a million tokens. Callers of a namespace take turns (take_turn, to the end of the transaction, which should do
-- nothing else). Called before every call of a model. Security definer: writes past the policies; checks the caller
-- itself. Errors: 42501, P0002, 22023 (seconds), 23514, 53400 (the budget is spent; its detail is the moment at which
-- to ask again).
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
        raise configuration_limit_exceeded using column = 'settings.model_tokens',
            message = format(
                'the day''s budget is spent: models have used %s of %s tokens (setting model_tokens), and this call '
                         'may need %s',
                             v_used.prompt_tokens + v_used.completion_tokens, v_used.most_tokens,
                             p_prompt_tokens + v_least),
            detail = to_json(case when v_tokens + v_used.held_tokens >= v_least
                             then clock_timestamp() + interval '1 minute'
                                  else (v_today + 1)::timestamp at time zone 'UTC' end) #>> '{}',
            hint = 'Wait for the next day (UTC), or raise the setting.';
    elsif v_cost < v_least * v_price then
        raise configuration_limit_exceeded using column = 'settings.model_cost',
            message = format(
                'the day''s budget is spent: calls of models have cost %s of %s (setting model_cost), and this call '
                         'may cost %s',
                             round(v_used.cost, 6), v_used.most_cost, round(v_prompt + v_least * v_price, 6)),
            detail = to_json(case when v_cost + v_used.held_cost >= v_least * v_price
                             then clock_timestamp() + interval '1 minute'
                                  else (v_today + 1)::timestamp at time zone 'UTC' end) #>> '{}',
            hint = 'Wait for the next day (UTC), or raise the setting.';
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
