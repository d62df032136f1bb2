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
