-- Start of a request: who holds this key, and may they do this here? One statement, sent in the same round trip as the
-- work itself. Sets loci.agent for the transaction. Without a key the caller is the operator: the service asks so only
-- when it is bound to loopback. Security definer: reads keys, which callers may not.
create or replace function loci.enter(p_key_hash bytea, p_namespace text, p_role text)
returns table (agent_id uuid, namespace_id integer, namespace text, settings jsonb)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_agent uuid := '00000000-0000-0000-0000-000000000000';
begin
    if p_key_hash is not null then
        select k.agent_id into v_agent from loci_data.api_keys k
        where k.hash = p_key_hash and k.revoked_at is null and (k.expires_at is null or k.expires_at > clock_timestamp());
        if not found then
            raise invalid_authorization_specification using
                message = 'the API key is unknown, expired or revoked', hint = 'Send a valid key as `Authorization: Bearer …`.';
        end if;
    end if;
    perform set_config('loci.agent', v_agent::text, true);
    return query
        select v_agent, n.id, (select s.name from loci_data.namespaces s where s.id = n.id), loci.settings(n.id)
        from (select case when p_role is not null then loci.authorize(p_namespace, p_role) end) n(id);
end $$;
comment on function loci.enter(bytea, text, text) is 'Authenticate (SHA-256 of the key, or null for the operator), authorize in a namespace (role null: in none), and name the agent for the rest of the transaction. Errors: 28000, 42501, P0002.';
