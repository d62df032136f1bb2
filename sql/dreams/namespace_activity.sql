-- Is somebody at work in this namespace, so that a scheduled dream had better wait? What with; null: it is quiet.
-- Somebody is, if within dream_busy_minutes a turn was written or an agent changed something over REST or MCP, or if a
-- request waits for a model now. Newest ends of three indexes: conversation_turns_newest (numbers of turns grow with
-- the time of their writing), operations_started, model_calls_started. Security definer: past the policies; checks the
-- caller itself. Errors: 42501, P0002.
create or replace function loci_api.namespace_activity(p_namespace text) returns text
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'reader');
    v_since timestamptz := clock_timestamp()
        - (loci_internal.settings(v_ns) ->> 'dream_busy_minutes')::double precision * interval '1 minute';
begin
    if (select t.said_at > v_since and t.said_at <= clock_timestamp() from loci_data.conversation_turns t
        where t.namespace_id = v_ns order by t.id desc limit 1) then
        return 'a conversation is going on';
    elsif exists (select from loci_data.operations o
                  where o.namespace_id = v_ns and o.started_at > v_since and o.via in ('rest', 'mcp')) then
        return 'agents are writing';
    elsif exists (select from loci_data.model_calls c
                  where c.namespace_id = v_ns
                    and c.started_at > greatest(v_since, clock_timestamp() - interval '10 minutes')
                    and c.state = 'running' and c.job_id is null) then
        return 'a request waits for a model';
    end if;
    return null;
end $$;
comment on function loci_api.namespace_activity(text) is
    'Activity in the namespace, if it was written to lately or a request waits for a model; null: it is quiet. '
    'Errors: 42501, P0002.';
