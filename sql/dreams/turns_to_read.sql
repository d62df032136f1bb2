-- Which turns of the conversation log does a job learn from? The first call takes the oldest ones that no pass has
-- consumed, at most dream_limit; every later one of the same job gives the same, also in another process. They leave
-- the log when the job succeeds or dies (see clear_turns_of_ended_job). Security definer; checks the caller itself.
-- Errors:
-- 42501, P0002, 55000.
create or replace function loci_api.turns_to_read(p_namespace text, p_id uuid)
returns table (id bigint, session_id text, role text, content text, said_at timestamptz)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns   integer := loci_internal.authorize(p_namespace, 'admin');
    v_read bigint[];
begin
    perform loci_api.lock_job(p_namespace, p_id);
    select j.turns_read into v_read from loci_data.jobs j where j.namespace_id = v_ns and j.id = p_id;
    if v_read is null then
        v_read := array(select l.id from loci.conversation_log(
            p_namespace,
            greatest(1, least((loci_internal.settings(v_ns) ->> 'dream_limit')::double precision, 10000))::integer) l
                order by l.id);
        update loci_data.jobs j set turns_read = v_read where j.namespace_id = v_ns and j.id = p_id;
    end if;
    return query
    select t.id, t.session_id, t.role, t.content, t.said_at
    from loci_data.conversation_turns t where t.namespace_id = v_ns and t.id = any (v_read) order by t.id;
end $$;
comment on function loci_api.turns_to_read(text, uuid) is
    'Turns of the conversation log that a job learns from, the same at every call. Errors: 42501, P0002, 55000.';
