-- Authorization: the beginning of a request, the operator, and the role that a namespace asks for.

-- May the caller act in this namespace with this role? Without a name it is the caller's default_namespace, and never
-- another. An agent without a grant gets the same answer whether or not the namespace exists. A key may do less than
-- its agent: by its scope, and in the namespaces that it names alone. One that has moved to another cell has no row
-- here, and is refused with the cell. Uses two primary keys; about 20 µs.
create or replace function loci_internal.authorize(p_namespace text, p_role text) returns integer
language plpgsql stable parallel safe security definer set search_path = ''
as $$
declare
    v_caller       uuid := loci.current_agent();
    v_name         text := coalesce(p_namespace, loci_internal.default_namespace());
    v_namespace_id integer;
    v_granted      text;
    v_role         text;
begin
    select n.id, case when a.kind = 'operator' then 'admin' else g.role end into v_namespace_id, v_granted
    from loci_data.agents a
    left join loci_data.namespaces n on n.name = v_name
    left join loci_data.grants g on g.namespace_id = n.id and g.agent_id = a.id
         and (g.expires_at is null or g.expires_at > clock_timestamp()) and loci_internal.key_reaches(n.id)
    where a.id = v_caller;
    v_role := loci_internal.scoped_role(v_granted);

    if v_role is null then
        perform loci_internal.refuse_moved_namespace(p_namespace);
        perform loci_internal.refuse_namespace(p_namespace);
    elsif v_namespace_id is null then
        perform loci_internal.refuse_moved_namespace(v_name);
        raise no_data_found using
            message = format('namespace %L does not exist', v_name), column = 'namespace',
            hint = 'Create it with POST /api/v1/namespaces, `loci namespace create`, or create=True of the Python '
                   'client.';
    elsif array_position(array['reader', 'writer', 'admin'], v_role)
          < array_position(array['reader', 'writer', 'admin'], p_role) then
        raise insufficient_privilege using
            message = format('the role %s in namespace %L does not allow this: %s is needed', v_role, v_name, p_role),
            hint = case when v_role <> v_granted then format('The agent is %s; the scope of this key is %s.',
                                                             v_granted, current_setting('loci.scope'))
                        else '' end;
    end if;
    return v_namespace_id;
end $$;
comment on function loci_internal.authorize(text, text) is
    'Id of a namespace in which the caller has at least this role (reader, writer, admin). Errors: 42501 without it, '
    'P0002 for an unknown namespace, LOCI1 for one in another cell.';

-- Say why a namespace is refused: the one that was named (null: none was), to a caller without a grant there. Errors:
-- 42501.
create or replace function loci_internal.refuse_namespace(p_namespace text) returns void
language plpgsql stable parallel safe set search_path = ''
as $$
begin
    if p_namespace is not null then
        raise insufficient_privilege using message = format('no access to namespace %L', p_namespace),
            hint = 'Ask an admin of the namespace for a grant.';
    elsif coalesce(current_setting('loci.key', true), '') <> '' then
        raise insufficient_privilege using
            message = 'no namespace was named, and the default namespace of this key is not granted to it any more',
            hint = 'Name a namespace (X-Namespace); GET /api/v1/agents/me lists those that are granted.';
    end if;
    raise insufficient_privilege using message = 'no namespace was named, and this caller has no default one';
end $$;
comment on function loci_internal.refuse_namespace(text) is
    'Refuse a namespace, or that none was named. Errors: 42501.';

-- Is the caller an admin of a namespace, with this key? One primary key look-up.
create or replace function loci_internal.is_admin(p_namespace_id integer) returns boolean
language sql stable parallel safe
as $$
    select exists (select from loci_data.agents a
                   left join loci_data.grants g on g.namespace_id = p_namespace_id and g.agent_id = a.id
                        and g.role = 'admin'
                        and (g.expires_at is null or g.expires_at > clock_timestamp())
                        and loci_internal.key_reaches(p_namespace_id)
                   where a.id = loci.current_agent()
                     and (a.kind = 'operator' or (g.role is not null and loci_internal.scoped_role('admin') = 'admin')))
$$;
comment on function loci_internal.is_admin(integer) is
    'Whether the caller is an admin of a namespace.';

-- Does the key of this transaction work in a namespace, as far as the key itself says? True without a key and for a key
-- that names no namespaces; grants are another matter. Reads loci.scope_namespaces, which loci_api.begin_request sets.
-- Inlined.
create or replace function loci_internal.key_reaches(p_namespace_id integer) returns boolean
language sql stable parallel safe
as $$
    select coalesce(p_namespace_id = any (nullif(current_setting('loci.scope_namespaces', true), '')::integer[]), true)
$$;
comment on function loci_internal.key_reaches(integer) is
    'Whether the transaction''s key works in a namespace, its agent''s grants apart.';

-- The role that the scope of this transaction's key leaves: with scope read every role is reader, with write admin is
-- writer. Reads loci.scope, which loci_api.begin_request sets. Inlined.
create or replace function loci_internal.scoped_role(p_role text) returns text
language sql stable parallel safe
as $$
    select case when current_setting('loci.scope', true) = 'read' and p_role in ('writer', 'admin') then 'reader'
                when current_setting('loci.scope', true) = 'write' and p_role = 'admin' then 'writer'
                else p_role end
$$;
comment on function loci_internal.scoped_role(text) is
    'The role that an agent with this one has under the scope of the transaction''s key.';

-- Is it the operator who asks? Nobody is not. Inlines.
create or replace function loci_internal.is_operator() returns boolean
language sql stable parallel safe
as $$
    select loci.current_agent() is not distinct from loci_internal.operator_id()
$$;
comment on function loci_internal.is_operator() is
    'Whether the operator asks.';

-- The UUID that sorts before all others, which is nobody's id: where a walk over ids begins. Inlines to a constant.
create or replace function loci_internal.nil_uuid() returns uuid
language sql immutable parallel safe
as $$
    select '00000000-0000-0000-0000-000000000000'::uuid
$$;
comment on function loci_internal.nil_uuid() is
    'The UUID that sorts before all others.';

-- The agent that may do anything, as the first revision made it. Inlines to a constant.
create or replace function loci_internal.operator_id() returns uuid
language sql immutable parallel safe
as $$
    select loci_internal.nil_uuid()
$$;
comment on function loci_internal.operator_id() is
    'The agent of the operator.';

-- Refuse everybody but the operator. p_act says what: a verb and its object. Errors: 42501.
create or replace function loci_internal.require_operator(p_act text) returns void
language plpgsql stable parallel safe
as $$
begin
    if not loci_internal.is_operator() then
        raise insufficient_privilege using message = 'only the operator may ' || p_act;
    end if;
end $$;
comment on function loci_internal.require_operator(text) is
    'Refuse everybody but the operator. Errors: 42501.';

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

-- The namespace that a caller means who names none: that of the key, fixed when it was made, whatever was granted
-- since; of the operator default. Null for others, who have to name one: an analyst, and a key whose namespace was
-- deleted. Reads loci.namespace, which loci_api.begin_request sets beside loci.key.
create or replace function loci_internal.default_namespace() returns text
language sql stable parallel safe set search_path = ''
as $$
    select case when coalesce(current_setting('loci.key', true), '') <> ''
                then nullif(current_setting('loci.namespace', true), '')
                when loci_internal.is_operator() then 'default' end
$$;
comment on function loci_internal.default_namespace() is
    'Name of the namespace of a caller who names none; null: there is none.';
