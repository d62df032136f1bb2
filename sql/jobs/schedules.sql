-- Schedules of jobs.

-- When are dreams wanted, and when are they due? Every namespace that has a schedule, or had one until now: the rule
-- that it wants (null: none any more), the rule and the moment that were last reckoned (null: not yet), and the
-- database's clock, which all workers go by. One scan of the namespaces, which are few beside what they hold. Security
-- definer; the operator's. Errors: 42501.
create or replace function loci_api.list_schedules()
returns table (namespace text, wanted text, cron text, due_at timestamptz, now timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
begin
    perform loci_internal.require_operator('read all schedules');
    return query
    select n.name, nullif(btrim(n.settings ->> 'dream_schedule'), ''), s.cron, s.due_at, clock_timestamp()
    from loci_data.namespaces n
    left join loci_data.schedules s on s.namespace_id = n.id and s.kind = 'dream'
    where coalesce(btrim(n.settings ->> 'dream_schedule'), '') <> '' or s.cron is not null
    order by n.id;
end $$;
comment on function loci_api.list_schedules() is
    'Schedules of dreams that namespaces want, and what was last computed of them. Operator only. Errors: 42501.';

-- Keep what was reckoned of a schedule, and make the job if it is due, together: of many workers that see the same
-- schedule due, one makes the job. p_cron and p_next: the rule that is in force and when it is due next; null: there is
-- none any more. p_cron_seen and p_due_seen: what the reckoning rests on (null: nothing); if somebody was quicker,
-- nothing is done. A new or changed rule makes no job at once, and one that was missed makes one, however often. The
-- job's id comes back, if one was made. Security definer; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.update_schedule(
    p_namespace text, p_cron_seen text, p_due_seen timestamptz, p_cron text, p_next timestamptz)
returns uuid
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'admin');
    v_job record;
begin
    if p_cron_seen is null then
        insert into loci_data.schedules (namespace_id, kind, cron, due_at) values (v_ns, 'dream', p_cron, p_next)
        on conflict do nothing;
        return null;
    elsif p_cron is null then
        delete from loci_data.schedules s where s.namespace_id = v_ns and s.kind = 'dream' and s.cron = p_cron_seen;
        return null;
    end if;
    update loci_data.schedules s set cron = p_cron, due_at = p_next
    where s.namespace_id = v_ns and s.kind = 'dream' and s.cron = p_cron_seen and s.due_at = p_due_seen;
    if not found or p_cron <> p_cron_seen or p_due_seen > clock_timestamp() then
        return null;
    end if;
    select a.id, a.created into v_job
    from loci_internal.insert_job(v_ns, 'dream', '{"scheduled": true}', 'scheduled', 'dream') a;
    if v_job.created then
        update loci_data.jobs j set agent_id = null where j.namespace_id = v_ns and j.id = v_job.id;
    end if;
    return v_job.id;
end $$;
comment on function loci_api.update_schedule(text, text, timestamptz, text, timestamptz) is
    'Keep the computed next time of the schedule of dreams, and make the job if it is due; its id. '
    'Errors: 42501, P0002.';
