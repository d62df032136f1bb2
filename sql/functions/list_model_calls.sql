-- Which calls of models were made, for what, and what did they cost? Newest first, a page at a time: p_cursor is the id of the last one of
-- the page before. Of one purpose, or of one job. Primary key, or index model_calls_job: it is planned for each call. Called by
-- GET /model-calls and `loci model calls`. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit).
create or replace function loci.list_model_calls(
    p_namespace text, p_limit integer default 50, p_cursor uuid default null, p_purpose text default null, p_job_id uuid default null)
returns table (id uuid, job_id uuid, purpose text, model text, state text, started_at timestamptz, took_ms integer, prompt_tokens integer,
               completion_tokens integer, estimated boolean, cost numeric, error text)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan set enable_seqscan = off
as $$
declare
    v_ns integer := loci.authorize(p_namespace, 'reader');
begin
    perform loci.check_page(p_limit);
    return query
    select c.id, c.job_id, c.purpose, c.model, c.state, c.started_at, c.took_ms, c.prompt_tokens, c.completion_tokens, c.estimated,
           c.cost, c.error
    from loci_data.model_calls c
    where c.namespace_id = v_ns and c.id < coalesce(p_cursor, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
      and (p_purpose is null or c.purpose = p_purpose) and (p_job_id is null or c.job_id = p_job_id)
    order by c.id desc limit p_limit;
end $$;
comment on function loci.list_model_calls(text, integer, uuid, text, uuid) is 'Calls of models, newest first; the id of the last one pages. Errors: 42501, P0002, 22023.';
