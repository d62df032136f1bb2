-- A login of the server becomes an analyst: an agent with the role reader in some namespaces. One row and one grant a
-- namespace. An agent of this login that another cell has made is the same one here. The login itself is made in the
-- same transaction, by who may make roles (db/access/analysts.py). Security definer: analysts are made by a member of
-- the owner that need not inherit its rights.
create or replace function loci_api.create_analyst_agent(p_login name, p_namespaces text[], p_expires_at timestamptz,
                                                         p_limit interval) returns uuid
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_id      uuid := coalesce((select a.id from loci_data.agents a where a.database_role = p_login
                                and exists (select from loci_data.cells)), loci_api.uuid7());
    v_missing text := (select w.name from unnest(p_namespaces) w(name)
                       where not exists (select from loci_data.namespaces n where n.name = w.name)
                       order by w.name limit 1);
begin
    if v_missing is not null then
        raise no_data_found using message = format('namespace %L does not exist', v_missing), column = 'namespace';
    end if;
    perform loci_internal.require_moment_to_come(p_expires_at, 'expires');
    insert into loci_data.agents (id, name, kind, database_role, statement_limit)
    values (v_id, p_login, 'analyst', p_login, p_limit)
    on conflict (id) do nothing;
    insert into loci_data.grants (namespace_id, agent_id, role, expires_at)
    select n.id, v_id, 'reader', p_expires_at from loci_data.namespaces n where n.name = any (p_namespaces)
    order by n.id
    on conflict (namespace_id, agent_id) do update set expires_at = excluded.expires_at;
    return v_id;
end $$;
comment on function loci_api.create_analyst_agent(name, text[], timestamptz, interval) is
    'Make a login an analyst with the role reader in namespaces. Errors: P0002, 22023 (expires), 23505 (is one '
    'already).';
