-- May an admin of this namespace make a further key of this agent? It must be one that holds keys, with a grant here; its role is that grant's.
-- Called by create_key; internal. Errors: P0002 (agent_id), 22023 (role).
create or replace function loci.check_key_agent(p_namespace_id integer, p_agent_id uuid, p_role text) returns void
language plpgsql stable set search_path = ''
as $$
begin
    if p_role is not null then
        raise invalid_parameter_value using column = 'role',
            message = 'role must be left out with agent_id: the agent''s grants hold; scope says what the key does of them';
    end if;
    perform from loci_data.grants g join loci_data.agents a on a.id = g.agent_id
    where g.namespace_id = p_namespace_id and g.agent_id = p_agent_id and a.kind = 'key';
    if not found then
        raise no_data_found using column = 'agent_id', message = format('no agent %s with keys has a grant in this namespace', p_agent_id);
    end if;
end $$;
comment on function loci.check_key_agent(integer, uuid, text) is 'Raise unless a further key of this agent may be made in a namespace. Internal.';
