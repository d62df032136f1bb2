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
