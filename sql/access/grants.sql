-- Grants: roles of agents in namespaces.

-- Give an agent a role in a namespace, or change the one it has: reader, writer or admin, until a moment, or for good
-- (null). In force from the next statement of the agent on, where the agent is at home here, or the caller manages it;
-- otherwise an invitation (give_grant), which gives nothing until the agent accepts it. The agent is named by its id:
-- that of a key (list_keys, POST /keys), of an analyst, or what another agent says it is (whoami). The reply says
-- nothing of an invited agent, not even whether there is one; only the operator is told. Only an operator may take the
-- last admin away (require_remaining_admin). Security definer: writes grants; checks the caller itself. Admin. Errors:
-- 42501, P0002 (namespace, agent), 22023 (role, expires_at, the operator), 23505 (the last admin).
create or replace function loci_api.set_grant(p_namespace text, p_agent uuid, p_role text,
                                              p_expires_at timestamptz default null)
returns table (agent_id uuid, agent text, kind text, role text, expires_at timestamptz, created_at timestamptz,
               accepted boolean, created boolean)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'admin');
    v_kind  text := (select a.kind from loci_data.agents a where a.id = p_agent);
    v_old   loci_data.grants;
    v_found boolean;
begin
    if p_agent is null or v_kind is null and loci_internal.is_operator() then
        raise no_data_found using message = format('agent %s does not exist', coalesce(p_agent::text, 'null')),
            column = 'agent_id';
    elsif v_kind = 'operator' then
        raise invalid_parameter_value using message = 'agent_id: the operator is admin everywhere and needs no grant',
            column = 'agent_id';
    elsif p_role is null or p_role not in ('reader', 'writer', 'admin') then
        raise invalid_parameter_value
            using message = format('role must be reader, writer or admin, not %s', coalesce(p_role, 'null')),
            column = 'role';
    end if;
    perform loci_internal.require_moment_to_come(p_expires_at, 'expires_at');
    perform loci_internal.lock_grants(v_ns);
    perform loci_internal.authorize(p_namespace, 'admin');  -- still, now that it is this one's turn
    v_found := exists (select from loci_internal.grant_rows(v_ns, array[p_agent]));
    select g.* into v_old from loci_data.grants g where g.namespace_id = v_ns and g.agent_id = p_agent;
    perform loci_internal.give_grant(v_ns, p_agent, p_role, p_expires_at, loci_internal.manages_agent(p_agent));
    perform loci_internal.require_remaining_admin(v_ns, v_old);
    return query select r.*, not v_found from loci_internal.grant_rows(v_ns, array[p_agent]) r;
end $$;
comment on function loci_api.set_grant(text, uuid, text, timestamptz) is
    'Give an agent a role in a namespace, until a moment or for good, or invite it; returns the grant and whether it '
    'is new. Admin. Errors: 42501, P0002, 22023, 23505.';

-- Put a grant in force, or invite. A grant in force is changed: an agent accepts the namespace, whose admins may then
-- give it more or less there, and it may leave. p_managed: whoever asks may accept for the agent, so a new one is in
-- force at once. One that has expired is over: of an agent that is not managed it becomes an invitation. The caller
-- holds lock_grants.
create or replace function loci_internal.give_grant(p_namespace_id integer, p_agent uuid, p_role text,
                                                    p_expires_at timestamptz, p_managed boolean) returns void
language plpgsql volatile set search_path = ''
as $$
begin
    if p_managed or exists (select from loci_data.grants g
                            where g.namespace_id = p_namespace_id and g.agent_id = p_agent
                              and (g.expires_at is null or g.expires_at > clock_timestamp())) then
        delete from loci_data.invitations i where i.namespace_id = p_namespace_id and i.agent_id = p_agent;
        insert into loci_data.grants as g (namespace_id, agent_id, role, expires_at)
        values (p_namespace_id, p_agent, p_role, p_expires_at)
        on conflict (namespace_id, agent_id) do update set role = excluded.role, expires_at = excluded.expires_at;
    else
        delete from loci_data.grants g where g.namespace_id = p_namespace_id and g.agent_id = p_agent;
        insert into loci_data.invitations as i (namespace_id, agent_id, role, expires_at)
        values (p_namespace_id, p_agent, p_role, p_expires_at)
        on conflict (namespace_id, agent_id) do update set role = excluded.role, expires_at = excluded.expires_at;
    end if;
end $$;
comment on function loci_internal.give_grant(integer, uuid, text, timestamptz, boolean) is
    'Put a grant in force where the agent need not accept it, or has; otherwise invite.';

-- Take an agent's role in a namespace away: its next statement is refused. Its keys stay, and reach what else it has.
-- An invitation is withdrawn. Returns the grant as it was. Only an operator may take the last admin away
-- (require_remaining_admin). Security definer: writes grants; checks the caller itself. Admin. Errors: 42501, P0002
-- (namespace; the agent has no grant there), 23505 (the last admin).
create or replace function loci_api.delete_grant(p_namespace text, p_agent uuid)
returns table (agent_id uuid, agent text, kind text, role text, expires_at timestamptz, created_at timestamptz,
               accepted boolean)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'admin');
    v_old loci_data.grants;
begin
    perform loci_internal.lock_grants(v_ns);
    perform loci_internal.authorize(p_namespace, 'admin');  -- still, now that it is this one's turn
    return query select r.* from loci_internal.grant_rows(v_ns, array[p_agent]) r;
    if not found then
        raise no_data_found using message = format('agent %s has no grant in this namespace',
                                                   coalesce(p_agent::text, 'null')), column = 'agent_id';
    end if;
    delete from loci_data.invitations i where i.namespace_id = v_ns and i.agent_id = p_agent;
    delete from loci_data.grants g where g.namespace_id = v_ns and g.agent_id = p_agent returning g.* into v_old;
    perform loci_internal.require_remaining_admin(v_ns, v_old);
end $$;
comment on function loci_api.delete_grant(text, uuid) is
    'Take an agent''s role in a namespace away, or withdraw an invitation; returns it as it was. Admin. Errors: 42501, '
    'P0002, 23505.';

-- Grants as the API shows them, with the names of their agents; an agent that is only invited is shown by the id that
-- the inviter named. Primary keys. Inlines.
create or replace function loci_internal.grant_rows(p_namespace_id integer, p_agents uuid[])
returns table (agent_id uuid, agent text, kind text, role text, expires_at timestamptz, created_at timestamptz,
               accepted boolean)
language sql stable
as $$
    select g.agent_id, a.name, a.kind, g.role, g.expires_at, g.created_at, true
    from loci_data.grants g join loci_data.agents a on a.id = g.agent_id
    where g.namespace_id = p_namespace_id and g.agent_id = any(p_agents)
    union all
    select i.agent_id, null, null, i.role, i.expires_at, i.created_at, false
    from loci_data.invitations i
    where i.namespace_id = p_namespace_id and i.agent_id = any(p_agents)
$$;
comment on function loci_internal.grant_rows(integer, uuid[]) is
    'Grants with the names of their agents, and invitations without.';

-- Changes of the grants of a namespace take turns, so that two admins who take each other away leave one. Held to the
-- end of the transaction.
create or replace function loci_internal.lock_grants(p_namespace_id integer) returns void
language sql volatile set search_path = ''
as $$
    select loci_internal.take_turn(p_namespace_id, 'grants')
$$;
comment on function loci_internal.lock_grants(integer) is
    'Wait for other changes of grants in a namespace, to the end of the transaction.';

-- Has a namespace still an admin, now that p_old was changed or taken away? A permanent admin may be removed only if
-- another permanent admin remains; a temporary one if any remains. A namespace without admins stays one (the operator's
-- keys may all be writers), and the operator may do anything: it can repair what it broke. The caller holds
-- lock_grants. Range of the primary key of grants. Errors: 23505.
create or replace function loci_internal.require_remaining_admin(p_namespace_id integer, p_old loci_data.grants)
returns void
language plpgsql stable set search_path = ''
as $$
begin
    if p_old.role = 'admin' and (p_old.expires_at is null or p_old.expires_at > clock_timestamp())
       and not loci_internal.is_operator() and not exists (
           select from loci_data.grants g
           where g.namespace_id = p_namespace_id and g.role = 'admin'
             and (g.expires_at is null or p_old.expires_at is not null and g.expires_at > clock_timestamp())) then
        raise unique_violation using message = 'this is the last admin of the namespace', column = 'agent_id',
            hint = 'Make another agent admin for good first, or let the operator do it.';
    end if;
end $$;
comment on function loci_internal.require_remaining_admin(integer, loci_data.grants) is
    'Refuse to take the last admin of a namespace away. Errors: 23505.';

-- Roles in a namespace, and their ends: agents in order of their ids (that of their making, for agents of keys). Grants
-- that are void by now are listed too, as expired, and invitations, as not accepted. cursor: the last
-- agent_id of the page before. Ranges of the primary keys. Admin. Security definer: reads grants and agents. Errors:
-- 42501, P0002, 22023 (limit).
create or replace function loci_api.list_grants(p_namespace text, p_limit integer default 100,
                                                p_cursor uuid default null)
returns table (agent_id uuid, agent text, kind text, role text, expires_at timestamptz, created_at timestamptz,
               accepted boolean, expired boolean)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'admin');
begin
    perform loci_internal.check_page(p_limit);
    return query
    select r.*, coalesce(r.expires_at <= clock_timestamp(), false)
    from loci_internal.grant_rows(v_ns, array(
        select g.agent_id from (
            (select o.agent_id from loci_data.grants o
             where o.namespace_id = v_ns and (p_cursor is null or o.agent_id > p_cursor)
             order by o.agent_id limit p_limit)
            union all
            (select o.agent_id from loci_data.invitations o
             where o.namespace_id = v_ns and (p_cursor is null or o.agent_id > p_cursor)
             order by o.agent_id limit p_limit)) g
        order by g.agent_id limit p_limit)) r
    order by r.agent_id;
end $$;
comment on function loci_api.list_grants(text, integer, uuid) is
    'Agents with a role in a namespace, or invited, expired ones included; cursor pages. Admin. Errors: 42501, P0002, '
    '22023.';

-- Leave a namespace: the agent gives its own grant back, and its next statement there is refused. A guest may always
-- leave, also as the last admin; at home the last admin stays (require_remaining_admin). Asked by the agent, with a key
-- of scope admin, or by the operator for the agent that it names. Undoing it gives nothing back without the agent
-- (undo_grants). Security definer: writes grants. Errors: 42501, P0002 (no grant there; whether there is such a
-- namespace is not said), 23505 (the last admin).
create or replace function loci_api.leave_namespace(p_namespace text, p_agent uuid default null) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_agent uuid := loci_internal.invited_agent(p_agent);
    v_home  integer := (select a.home_id from loci_data.agents a where a.id = v_agent);
    v_ns    integer := (select n.id from loci_data.grants g join loci_data.namespaces n on n.id = g.namespace_id
                        where g.agent_id = v_agent and n.name = p_namespace and loci_internal.key_reaches(n.id));
    v_old   loci_data.grants;
begin
    perform loci_internal.require_whole_agent();
    if v_ns is not null then
        perform loci_internal.lock_grants(v_ns);
        delete from loci_data.grants g where g.namespace_id = v_ns and g.agent_id = v_agent returning g.* into v_old;
    end if;
    if v_old.agent_id is null then
        raise no_data_found using column = 'namespace',
            message = format('there is no grant in namespace %L', p_namespace),
            hint = 'GET /api/v1/agents/me lists those that there are.';
    elsif v_ns = v_home then
        perform loci_internal.require_remaining_admin(v_ns, v_old);
    end if;
end $$;
comment on function loci_api.leave_namespace(text, uuid) is
    'Give back a grant of the calling agent, or of the one that the operator names. Errors: 42501, P0002, 23505.';
