-- Start of a request: who holds this key, and may they do this here? One statement, sent in the same round trip as the
-- work itself. Sets loci.agent for the transaction; what the key may do of what its agent may (loci.scope,
-- loci.scope_namespaces: see authorize); what it means where the request says nothing (loci.namespace:
-- default_namespace; loci.space, and its home loci.space_namespace: bound_space; loci.user: speaking_user); and what
-- ensure_operation says of it: loci.key, loci.origin ({action, via, request_id, operation_id}), loci.operation. Without
-- a key the caller is the operator: the service asks so only when it is bound to loopback. p_limits: how long the
-- transaction's statements, waits for locks, pauses, and it itself may take (statement_timeout, lock_timeout,
-- idle_in_transaction_session_timeout, transaction_timeout, each with its unit; null: as the session has it).
-- time_zone: of the one who asks, as the key says; null: it says none.
-- p_creates: a namespace that is named and does not exist is made, where the caller may (create_named_namespace).
-- Security definer: reads keys, which callers may not.
create or replace function loci_api.begin_request(p_key_hash bytea, p_namespace text, p_role text,
                                                  p_origin jsonb default null, p_limits text[] default null,
                                                  p_creates boolean default false)
returns table (agent_id uuid, namespace_id integer, namespace text, settings jsonb, time_zone text)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_agent uuid := loci_internal.operator_id();
    v_key   loci_data.api_keys;
    v_ns    integer;
begin
    if p_limits is not null then
        perform set_config('statement_timeout', p_limits[1], true), set_config('lock_timeout', p_limits[2], true),
                set_config('idle_in_transaction_session_timeout', p_limits[3], true),
                case when p_limits[4] is not null then set_config('transaction_timeout', p_limits[4], true) end;
    end if;
    if p_key_hash is not null then
        v_key := loci_internal.find_key(p_key_hash);
        v_agent := v_key.agent_id;
        if v_agent is null then
            raise invalid_authorization_specification using
                message = 'invalid API key: it is unknown, expired or revoked',
                hint = 'Send a valid key as `Authorization: Bearer …`.';
        end if;
    end if;
    perform set_config('loci.agent', v_agent::text, true), set_config('loci.key', coalesce(v_key.id::text, ''), true),
            set_config('loci.scope', coalesce(v_key.scope, ''), true),
            set_config('loci.scope_namespaces', coalesce(v_key.namespaces::text, ''), true),
            set_config('loci.namespace', coalesce((select n.name from loci_data.namespaces n
                                                   where n.id = v_key.default_namespace_id), ''), true),
            set_config('loci.space', coalesce(v_key.space, ''), true),
            set_config('loci.user', coalesce(v_key.user_name, ''), true),
            set_config('loci.space_namespace', case when v_key.space is not null then coalesce((
                select a.home_id::text from loci_data.agents a where a.id = v_agent), '') else '' end, true),
            set_config('loci.origin', coalesce(p_origin::text, ''), true),
            set_config('loci.operation', coalesce(p_origin ->> 'operation_id', ''), true);
    if p_creates and p_namespace is not null and p_role is not null then
        perform loci_internal.create_named_namespace(p_namespace);
    end if;
    -- by itself: in a query the planner may ask it, which does not see yet what this transaction has made
    v_ns := case when p_role is not null then loci_internal.authorize(p_namespace, p_role) end;
    return query
        select v_agent, v_ns, (select s.name from loci_data.namespaces s where s.id = v_ns),
               loci_internal.settings(v_ns), v_key.time_zone;
end $$;
comment on function loci_api.begin_request(bytea, text, text, jsonb, text[], boolean) is
    'Authenticate (SHA-256 of the key, or null for the operator), authorize in a namespace (role null: in none), and '
    'name the agent, the operation that changes belong to, and the time limits, for the rest of the transaction. '
    'Errors: 28000, 42501, P0002.';
