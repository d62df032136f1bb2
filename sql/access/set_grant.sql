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

-- Put a grant in force, or invite. One that is in force is changed: what an agent accepts is the namespace, whose
-- admins may then give it more there, or less; what it gets is in their namespace alone, and it may leave.
-- p_managed: whoever asks may accept for the agent, so a new one is in force at once. One that has expired is over:
-- of an agent that is not managed it becomes an invitation. The caller holds lock_grants.
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
