-- Analysts: logins of people who read with SQL, as agents with roles.

-- The agent of an analyst, by login. One probe of a unique index. Guards what is done to roles: a login that is no
-- analyst is not touched. Security definer: reads agents for a member of the owner that need not inherit its rights.
create or replace function loci_api.analyst_agent_id(p_login name) returns uuid
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_id uuid := (select a.id from loci_data.agents a where a.database_role = p_login);
begin
    if v_id is null then
        raise no_data_found using message = format('%L is not an analyst', p_login), column = 'name',
            hint = '`loci analyst list` shows who is.';
    end if;
    return v_id;
end $$;
comment on function loci_api.analyst_agent_id(name) is
    'Agent of an analyst''s login. Errors: P0002.';

-- A login of the server becomes an analyst: an agent with the role reader in some namespaces. One row and one grant a
-- namespace. An agent of this login that another cell has made is the same one here. The login itself is made in the
-- same transaction, by who may make roles (db/access/analysts.py). Security definer: analysts are made by a member of
-- the owner that need not inherit its rights.
create or replace function loci_api.create_analyst_agent(p_login name, p_namespaces text[], p_expires_at timestamptz,
                                                         p_limit interval) returns uuid
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_id      uuid := coalesce((select a.id from loci_data.agents a where a.database_role = p_login
                                and exists (select from loci_data.cells)), loci_api.uuid7());
    v_missing text := (select w.name from unnest(p_namespaces) w(name)
                       where not exists (select from loci_data.namespaces n where n.name = w.name)
                       order by w.name limit 1);
begin
    if v_missing is not null then
        raise no_data_found using message = format('namespace %L does not exist', v_missing), column = 'namespace';
    end if;
    perform loci_internal.require_moment_to_come(p_expires_at, 'expires');
    insert into loci_data.agents (id, name, kind, database_role, statement_limit)
    values (v_id, p_login, 'analyst', p_login, p_limit)
    on conflict (id) do nothing;
    insert into loci_data.grants (namespace_id, agent_id, role, expires_at)
    select n.id, v_id, 'reader', p_expires_at from loci_data.namespaces n where n.name = any (p_namespaces)
    order by n.id
    on conflict (namespace_id, agent_id) do update set expires_at = excluded.expires_at;
    return v_id;
end $$;
comment on function loci_api.create_analyst_agent(name, text[], timestamptz, interval) is
    'Make a login an analyst with the role reader in namespaces. Errors: P0002, 22023 (expires), 23505 (is one '
    'already).';

-- Delete an analyst: its agent and grants go, and it sees nothing from the next statement on. The login is dropped in
-- the same transaction, by who may (db/access/analysts.py). Security definer: as create_analyst_agent.
create or replace function loci_api.delete_analyst_agent(p_login name) returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
    delete from loci_data.agents where id = loci_api.analyst_agent_id(p_login);
end $$;
comment on function loci_api.delete_analyst_agent(name) is
    'Delete an analyst''s agent and grants. Errors: P0002.';

-- An analyst may read one more namespace, or longer, or shorter. The operator's, to whom analysts belong: admins invite
-- them by their id (set_grant). In force from the analyst's next statement on.
create or replace function loci_api.grant_analyst(p_namespace text, p_login text,
                                                  p_expires_at timestamptz default null) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'admin');
    v_agent uuid;
begin
    perform loci_internal.require_operator('let an analyst into a namespace');
    v_agent := loci_api.analyst_agent_id(p_login::name);
    perform loci_internal.require_moment_to_come(p_expires_at, 'expires');
    perform loci_internal.lock_grants(v_ns);
    perform loci_internal.give_grant(v_ns, v_agent, 'reader', p_expires_at, true);
end $$;
comment on function loci_api.grant_analyst(text, text, timestamptz) is
    'Let an analyst read a namespace, until a moment or for good. Operator only. Errors: 42501, P0002 (namespace, '
    'login), 22023 (expires).';

-- An analyst may read a namespace no more, from the next statement on. Admin of the namespace.
create or replace function loci_api.revoke_analyst(p_namespace text, p_login text) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'admin');
begin
    delete from loci_data.grants g using loci_data.agents a
    where g.namespace_id = v_ns and g.agent_id = a.id and a.database_role = p_login::name;
    if not found then
        raise no_data_found using message = format('the analyst %L has no grant in namespace %L', p_login,
                                                   p_namespace), column = 'name';
    end if;
end $$;
comment on function loci_api.revoke_analyst(text, text) is
    'Take an analyst''s grant in a namespace away. Admin. Errors: 42501, P0002.';

-- Who may ask in SQL, what may they see, and how long may their statements run? By login. The operator's. Security
-- definer: reads agents and grants.
create or replace function loci_api.list_analysts()
returns table (login name, agent_id uuid, namespaces jsonb, statement_limit interval, created_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
begin
    perform loci_internal.require_operator('list analysts');
    return query
    select a.database_role, a.id, coalesce(g.namespaces, '[]'), a.statement_limit, a.created_at
    from loci_data.agents a
    cross join lateral (
        select jsonb_agg(jsonb_build_object('namespace', n.name, 'expires_at', r.expires_at)
                         order by n.name) as namespaces
        from loci_data.grants r join loci_data.namespaces n on n.id = r.namespace_id
        where r.agent_id = a.id and (r.expires_at is null or r.expires_at > clock_timestamp())) g
    where a.kind = 'analyst'
    order by a.database_role;
end $$;
comment on function loci_api.list_analysts() is
    'Analysts by login, with the namespaces that they may read now: [{namespace, expires_at}]. Operator only. Errors: '
    '42501.';

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
