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
