-- Invitations: an agent is invited into a namespace, and accepts or declines.

-- Accept an invitation: from the next statement on the agent has the role that it names there, as it stands now. Asked
-- by the agent, with a key of scope admin that is not kept to other namespaces, since all its keys reach the namespace
-- from then on; or by the operator. An acceptance and a withdrawal at once find each other (lock_grants): the second
-- sees the first done. Security definer: writes grants. Errors: 42501, P0002 (no invitation, or one that has expired;
-- whether there is such a namespace is not said).
create or replace function loci_api.accept_invitation(p_namespace text, p_agent uuid default null)
returns table (namespace text, role text, expires_at timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_agent uuid := loci_internal.invited_agent(p_agent);
    v_ns    integer;
    v_given loci_data.invitations;
begin
    return query
    select p_namespace, g.role, g.expires_at
    from loci_data.grants g join loci_data.namespaces n on n.id = g.namespace_id
    where g.agent_id = v_agent and n.name = p_namespace and loci_internal.key_reaches(n.id)
      and (g.expires_at is null or g.expires_at > clock_timestamp());
    if found then  -- it was accepted before
        return;
    end if;
    v_ns := loci_internal.lock_invitation(p_namespace, v_agent);
    delete from loci_data.invitations i where i.namespace_id = v_ns and i.agent_id = v_agent returning i.* into v_given;
    if v_given.expires_at <= clock_timestamp() or not exists (select from loci_data.agents a where a.id = v_agent) then
        perform loci_internal.refuse_invitation(p_namespace);
    end if;
    insert into loci_data.grants as g (namespace_id, agent_id, role, expires_at)
    values (v_ns, v_agent, v_given.role, v_given.expires_at)
    on conflict (namespace_id, agent_id) do update set role = excluded.role, expires_at = excluded.expires_at;
    return query select p_namespace, v_given.role, v_given.expires_at;
end $$;
comment on function loci_api.accept_invitation(text, uuid) is
    'Accept an invitation of the calling agent, or of the one that the operator names; returns the grant. Errors: '
    '42501, P0002.';

-- Decline an invitation: it is gone. Asked as accept_invitation is. Security definer: writes invitations. Errors:
-- 42501, P0002 (no invitation: also one that was accepted, which is left with leave_namespace).
create or replace function loci_api.decline_invitation(p_namespace text, p_agent uuid default null) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_agent uuid := loci_internal.invited_agent(p_agent);
    v_ns    integer := loci_internal.lock_invitation(p_namespace, v_agent);
begin
    delete from loci_data.invitations i where i.namespace_id = v_ns and i.agent_id = v_agent;
end $$;
comment on function loci_api.decline_invitation(text, uuid) is
    'Decline an invitation of the calling agent, or of the one that the operator names. Errors: 42501, P0002.';

-- Number of the namespace that has invited an agent, with its grants locked to the end of the transaction: the
-- invitation is there, and stays. A caller without an invitation locks nothing. Errors: 42501 (scope), P0002.
create or replace function loci_internal.lock_invitation(p_namespace text, p_agent uuid) returns integer
language plpgsql volatile set search_path = ''
as $$
declare
    v_ns integer := (select n.id from loci_data.invitations i join loci_data.namespaces n on n.id = i.namespace_id
                     where i.agent_id = p_agent and n.name = p_namespace and loci_internal.key_reaches(n.id));
begin
    perform loci_internal.require_whole_agent();
    if v_ns is null then
        perform loci_internal.refuse_invitation(p_namespace);
    end if;
    perform loci_internal.lock_grants(v_ns);
    perform from loci_data.invitations i where i.namespace_id = v_ns and i.agent_id = p_agent for update;
    if not found then
        perform loci_internal.refuse_invitation(p_namespace);
    end if;
    return v_ns;
end $$;
comment on function loci_internal.lock_invitation(text, uuid) is
    'Lock an invitation; number of its namespace. Errors: 42501, P0002.';

-- Say that there is no invitation, or none any more. Errors: P0002.
create or replace function loci_internal.refuse_invitation(p_namespace text) returns void
language plpgsql stable set search_path = ''
as $$
begin
    raise no_data_found using column = 'namespace',
        message = format('there is no invitation to namespace %L', p_namespace),
        hint = 'It may have been accepted, declined, withdrawn, or have expired: GET /api/v1/agents/me/invitations '
               'lists what there is.';
end $$;
comment on function loci_internal.refuse_invitation(text) is
    'Raise for an invitation that is not there. Errors: P0002.';

-- Accepting holds for all keys of an agent, so a key with less than its agent's rights may not decide. Reads
-- loci.scope. Errors: 42501.
create or replace function loci_internal.require_whole_agent() returns void
language plpgsql stable set search_path = ''
as $$
begin
    if current_setting('loci.scope', true) in ('read', 'write') then
        raise insufficient_privilege using
            message = format('the scope %s of this key does not allow this: admin is needed',
                             current_setting('loci.scope'));
    end if;
end $$;
comment on function loci_internal.require_whole_agent() is
    'Refuse a key of a scope below admin. Errors: 42501.';

-- To which namespaces is an agent invited? Its own invitations, by name, with the role that it would have; those that
-- are void by now are left out. The operator may ask for another agent. A key that is kept to namespaces learns of
-- those alone. Range of invitations_agent_id. Security definer: reads invitations. Errors: 42501, 22023 (limit).
create or replace function loci_api.list_invitations(p_agent uuid default null, p_limit integer default 100,
                                                     p_cursor text default null)
returns table (namespace text, role text, expires_at timestamptz, created_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_agent uuid := loci_internal.invited_agent(p_agent);
begin
    perform loci_internal.check_page(p_limit);
    return query
    select n.name, i.role, i.expires_at, i.created_at
    from loci_data.invitations i join loci_data.namespaces n on n.id = i.namespace_id
    where i.agent_id = v_agent and (i.expires_at is null or i.expires_at > clock_timestamp())
      and loci_internal.key_reaches(n.id) and (p_cursor is null or n.name > p_cursor)
    order by n.name limit p_limit;
end $$;
comment on function loci_api.list_invitations(uuid, integer, text) is
    'Invitations of the calling agent, or of the one that the operator names, by namespace. Errors: 42501, 22023.';

-- The agent that a caller answers for: itself, and for the operator the one that it names. Errors: 42501.
create or replace function loci_internal.invited_agent(p_agent uuid) returns uuid
language plpgsql stable set search_path = ''
as $$
begin
    if p_agent is distinct from loci.current_agent() and p_agent is not null then
        perform loci_internal.require_operator('answer for another agent');
    elsif loci.current_agent() is null then
        raise insufficient_privilege using message = 'not authenticated';
    end if;
    return coalesce(p_agent, loci.current_agent());
end $$;
comment on function loci_internal.invited_agent(uuid) is
    'The agent that a caller answers for. Errors: 42501.';
