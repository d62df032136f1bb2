-- May the caller act in this namespace with this role? Called first by every security definer function.
-- Without a name it is the caller's only namespace, or default. An agent without a grant gets the same answer whether or not the namespace exists.
-- A key may do less than its agent: by its scope, and in the namespaces that it names alone. Uses two primary keys; about 20 µs.
create or replace function loci.authorize(p_namespace text, p_role text) returns integer
language plpgsql stable parallel safe security definer set search_path = ''
as $$
declare
    v_caller       uuid := loci.caller();
    v_namespace_id integer;
    v_granted      text;
    v_role         text;
begin
    p_namespace := coalesce(p_namespace, loci.only_namespace(v_caller), 'default');
    select n.id, case when a.kind = 'operator' then 'admin' else g.role end into v_namespace_id, v_granted
    from loci_data.agents a
    left join loci_data.namespaces n on n.name = p_namespace
    left join loci_data.grants g on g.namespace_id = n.id and g.agent_id = a.id
         and (g.expires_at is null or g.expires_at > clock_timestamp()) and loci.key_reaches(n.id)
    where a.id = v_caller;
    v_role := loci.scoped_role(v_granted);

    if v_role is null then
        raise insufficient_privilege using
            message = format('no access to namespace %L', p_namespace),
            hint = 'Ask an admin of the namespace for a grant.';
    elsif v_namespace_id is null then
        raise no_data_found using
            message = format('namespace %L does not exist', p_namespace), column = 'namespace',
            hint = 'Create it with POST /api/v1/namespaces or `loci namespace create`.';
    elsif array_position(array['reader', 'writer', 'admin'], v_role)
          < array_position(array['reader', 'writer', 'admin'], p_role) then
        raise insufficient_privilege using
            message = format('the role %s in namespace %L does not allow this: %s is needed', v_role, p_namespace, p_role),
            hint = case when v_role <> v_granted then format('The agent is %s; the scope of this key is %s.', v_granted, current_setting('loci.scope'))
                        else '' end;
    end if;
    return v_namespace_id;
end $$;
comment on function loci.authorize(text, text) is 'Id of a namespace in which the caller has at least this role (reader, writer, admin). Errors: 42501 without it, P0002 for an unknown namespace.';
