-- Stops what analysts let run, or hold, for too long. Settings of a session say the same, but it may change them;
-- this it cannot change: the limit stands in agents, and the service does the stopping. A statement is cancelled past
-- its limit. A session is ended past twice the limit (a statement can catch a cancellation), when its transaction is
-- ten times as old (it holds back vacuum), when it has been idle in a transaction, or with an advisory lock, for the
-- limit, when it has been idle for twenty times the limit, and when another has waited for it for three seconds,
-- whatever it does then. Security invoker: the service's role is a member of analysts' logins, which is what lets it
-- see and stop their sessions, and no others. One look at pg_stat_activity and pg_locks.
create or replace function loci_api.stop_analysts(p_in_the_way interval default '3 seconds')
returns table (login name, pid integer, ended boolean, reason text)
language sql volatile set search_path = ''
as $$
    with session as materialized (
        select s.usename, s.pid, s.state, a.statement_limit as most, clock_timestamp() - s.xact_start as transaction,
               case when s.state = 'active' then clock_timestamp() - s.query_start end as statement,
               case when s.state <> 'active' then clock_timestamp() - s.state_change end as idle
        from loci_api.list_analysts() a
        join pg_catalog.pg_stat_activity s on s.usename = a.login and s.datname = current_database()
             and s.backend_type = 'client backend'
        join pg_catalog.pg_roles r on r.rolname = a.login and not r.rolsuper
    ), blocker as materialized (
        select distinct b.pid
        from (select l.pid from pg_catalog.pg_locks l
              where not l.granted and l.locktype <> 'virtualxid' and exists (select from session)
                and l.waitstart < clock_timestamp() - p_in_the_way) w
        cross join lateral unnest(pg_catalog.pg_blocking_pids(w.pid)) b(pid)
    ), overdue as materialized (
        select s.usename, s.pid, s.most, s.statement,
               case when s.statement > 2 * s.most then 'statement'
                    when s.transaction > 10 * s.most then 'transaction'
                    when s.idle > s.most and s.transaction is not null then 'idle in a transaction'
                    when s.idle > s.most and exists (select from pg_catalog.pg_locks l where l.pid = s.pid
                                                     and l.locktype = 'advisory') then 'idle with a lock'
                    when s.idle > 20 * s.most then 'idle'
                    when exists (select from blocker b where b.pid = s.pid) then 'others wait for it' end as why
        from session s
    ), stopped as materialized (
        select o.usename, o.pid, o.why is not null as ended, coalesce(o.why, 'statement') as why from overdue o
        where o.why is not null or o.statement > o.most + interval '1 second'
    )
    select t.usename, t.pid, t.ended, t.why from stopped t
    where case when t.ended then pg_catalog.pg_terminate_backend(t.pid) else pg_catalog.pg_cancel_backend(t.pid) end
    order by t.usename, t.pid
$$;
comment on function loci_api.stop_analysts(interval) is
    'Cancel statements of analysts that are past their limit, and end sessions that are far past it, idle, or in '
    'the way of others; says which and why. Operator only. Errors: 42501.';
