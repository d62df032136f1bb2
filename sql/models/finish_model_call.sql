-- Say what a call of a model has used: its tokens (p_estimated: reckoned, because the endpoint did not count), and why
-- it failed (p_error; null: it succeeded). Prices are of a million tokens. A call that was ended before stays as it is.
-- Primary key. Called after every call. Security definer: writes past the policies; checks the caller itself. Errors:
-- 42501, P0002, 23514. Returns what it cost.
create or replace function loci_api.finish_model_call(
    p_namespace text, p_id uuid, p_prompt_tokens integer, p_completion_tokens integer, p_estimated boolean,
    p_took_ms integer,
    p_error text default null, p_prompt_price double precision default 0, p_completion_price double precision default 0)
returns numeric
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns   integer := loci_internal.authorize(p_namespace, 'writer');
    v_cost numeric := trim_scale(
        (p_prompt_tokens * p_prompt_price::numeric + p_completion_tokens * p_completion_price::numeric) / 1000000);
begin
    update loci_data.model_calls c
    set state = case when p_error is null then 'succeeded' else 'failed' end, took_ms = p_took_ms,
        prompt_tokens = p_prompt_tokens,
        completion_tokens = p_completion_tokens, estimated = p_estimated, cost = v_cost, error = left(p_error, 500)
    where c.namespace_id = v_ns and c.id = p_id and c.state = 'running';
    if not found then
        raise no_data_found using message = format('no call %s of a model runs', p_id), column = 'id';
    end if;
    return v_cost;
end $$;
comment on function loci_api.finish_model_call(text, uuid, integer, integer, boolean, integer, text, double precision,
                                               double precision) is
    'Say what a call of a model has used, and whether it failed; what it cost. Errors: 42501, P0002, 23514.';
