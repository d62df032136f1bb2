-- Register a key by its hash, with a role in one namespace. Admins of the namespace, and the operator. The key itself never
-- comes here. A key may be given further namespaces by further grants to its agent.
create or replace function loci.create_key(p_namespace text, p_role text, p_name text, p_id uuid, p_hash bytea, p_expires_at timestamptz default null)
returns table (id uuid, agent_id uuid, created_at timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns    integer := loci.authorize(p_namespace, 'admin');
    v_agent uuid := loci.uuid7();
begin
    insert into loci_data.agents (id, name, kind) values (v_agent, p_name, 'key');
    insert into loci_data.grants (namespace_id, agent_id, role) values (v_ns, v_agent, p_role);
    return query
    insert into loci_data.api_keys as k (id, agent_id, name, hash, expires_at) values (p_id, v_agent, p_name, p_hash, p_expires_at)
    returning k.id, k.agent_id, k.created_at;
end $$;
comment on function loci.create_key(text, text, text, uuid, bytea, timestamptz) is 'Register an API key by its SHA-256, with a role in a namespace. Admin. Errors: 42501, P0002, 23514 (role).';
