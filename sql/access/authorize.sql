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
