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
