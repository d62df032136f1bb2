-- Register a key by its hash; the key itself never comes here. Without p_agent_id it is the key of a new agent with
-- role p_role in the namespace, or in each of p_namespaces; without those it works wherever the agent is granted more.
-- With p_agent_id it is a further key of an agent that the namespace has granted something: it works in p_namespaces,
-- by default in this one alone, because an agent may reach others; only the operator makes one that works wherever its
-- agent does. The caller must be an admin of every namespace named. A key with a rate limit makes none with a higher
-- one. Admins of the namespace, and the operator. Security definer: writes agents, grants and keys. Errors: 42501,
-- P0002 (namespace, agent_id), 23514 (role, scope, rate_limit), 22023.
create or replace function loci_api.create_key(
    p_namespace text, p_role text, p_name text, p_id uuid, p_hash bytea, p_expires_at timestamptz default null,
    p_scope text default 'admin', p_namespaces text[] default null, p_agent_id uuid default null,
    p_rate_limit integer default null)
returns table (id uuid, agent_id uuid, created_at timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns    integer := loci_internal.authorize(coalesce(p_namespace, p_namespaces[1]), 'admin');
    v_reach integer[] := array(select distinct loci_internal.authorize(n.name, 'admin')
                               from unnest(p_namespaces) n(name) order by 1);
    v_limit integer := (select k.rate_limit from loci_data.api_keys k
                        where k.id = nullif(current_setting('loci.key', true), '')::uuid);
    v_key   loci_data.api_keys;
begin
    if p_namespaces is null then
        v_reach := case when p_agent_id is not null and not loci_internal.is_operator() then array[v_ns] end;
    elsif v_ns <> all (v_reach) then
        raise invalid_parameter_value using column = 'namespaces',
            message = format('namespaces must hold the namespace of the request, %s',
                             (select n.name from loci_data.namespaces n where n.id = v_ns));
    end if;
    if p_rate_limit > v_limit then
        raise invalid_parameter_value using column = 'rate_limit',
            message = format('rate_limit must be at most %s, the limit of the key that asks, not %s', v_limit,
                             p_rate_limit);
    end if;
    if p_agent_id is null then
        insert into loci_data.agents (id, name, kind) values (loci_api.uuid7(), p_name, 'key')
        returning agents.id into p_agent_id;
        insert into loci_data.grants (namespace_id, agent_id, role)
        select n.id, p_agent_id, p_role from unnest(coalesce(v_reach, array[v_ns])) n(id) order by n.id;
    else
        perform loci_internal.check_key_agent(v_ns, p_agent_id, p_role);
    end if;
    insert into loci_data.api_keys (id, agent_id, name, hash, expires_at, scope, namespaces, rate_limit, bucket,
                                    created_by)
    values (p_id, p_agent_id, p_name, p_hash, p_expires_at, p_scope, v_reach, coalesce(p_rate_limit, v_limit), p_id,
            loci.current_agent())
    returning * into v_key;
    perform loci_internal.log_key_change(v_key, 'created', null);
    return query select v_key.id, v_key.agent_id, v_key.created_at;
end $$;
comment on function loci_api.create_key(text, text, text, uuid, bytea, timestamptz, text, text[], uuid, integer) is
    'Register an API key by its SHA-256: of a new agent with a role, or a further one of an agent. Admin. Errors: '
    '42501, P0002, 23514, 22023.';

-- May an admin of this namespace make a further key of this agent? It must be one that holds keys, with a grant here;
-- its role is that grant's. Errors: P0002 (agent_id), 22023 (role).
create or replace function loci_internal.check_key_agent(p_namespace_id integer, p_agent_id uuid, p_role text)
returns void
language plpgsql stable set search_path = ''
as $$
begin
    if p_role is not null then
        raise invalid_parameter_value using column = 'role',
            message = 'role must be left out with agent_id: the agent''s grants hold; scope says what the key does of '
                      'them';
    end if;
    perform from loci_data.grants g join loci_data.agents a on a.id = g.agent_id
    where g.namespace_id = p_namespace_id and g.agent_id = p_agent_id and a.kind = 'key';
    if not found then
        raise no_data_found using column = 'agent_id',
            message = format('no agent %s with keys has a grant in this namespace', p_agent_id);
    end if;
end $$;
comment on function loci_internal.check_key_agent(integer, uuid, text) is
    'Raise unless a further key of this agent may be made in a namespace.';
