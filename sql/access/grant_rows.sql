-- Grants as the API shows them, with the names of their agents; of those that are only invited, the id alone, which is
-- what whoever invites has named. Primary keys. Inlines.
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

-- Has a namespace still an admin, now that p_old was changed or taken away? Who is one for good gives way only to
-- another for good, one for a while to any. A namespace without admins stays one (the operator's keys may all be
-- writers), and the operator may do anything: it can repair what it broke. The caller holds lock_grants. Range of the
-- primary key of grants. Errors: 23505.
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
