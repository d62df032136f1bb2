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
