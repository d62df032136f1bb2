-- Stops what analysts let run for too long. Their own statement_timeout says the same, but a session may set it to 0;
-- this it cannot change: the limit stands in agents, and the service does the stopping. A statement is cancelled past
-- its limit, and the session ended past twice the limit (a statement can catch a cancellation), or when its transaction
-- is ten times as old (it holds back vacuum). Security invoker: the service's role is a member of analysts' logins,
-- which is what lets it see and stop their sessions, and no others. One look at pg_stat_activity.
create or replace function loci_api.stop_analysts() returns table (login name, pid integer, ended boolean)
language sql volatile set search_path = ''
as $$
    with overdue as materialized (
        select s.usename, s.pid, x.ended
        from loci_api.list_analysts() a
        join pg_catalog.pg_stat_activity s on s.usename = a.login and s.datname = current_database()
             and s.backend_type = 'client backend'
        join pg_catalog.pg_roles r on r.rolname = a.login and not r.rolsuper
        cross join lateral (select case when s.state = 'active' then clock_timestamp() - s.query_start end as statement,
                                   clock_timestamp() - s.xact_start as transaction) t
        cross join lateral (select coalesce(t.statement > 2 * a.statement_limit, false)
                                   or coalesce(t.transaction > 10 * a.statement_limit, false) as ended) x
        where x.ended or t.statement > a.statement_limit + interval '1 second'
    )
    select o.usename, o.pid, o.ended from overdue o
    where case when o.ended then pg_catalog.pg_terminate_backend(o.pid) else pg_catalog.pg_cancel_backend(o.pid) end
    order by o.usename, o.pid
$$;
comment on function loci_api.stop_analysts() is
    'Cancel statements of analysts that are past their limit, and end sessions that are far past it; says which. '
    'Operator only. Errors: 42501.';
