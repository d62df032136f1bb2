-- An analyst may read a namespace no more, from the next statement on. Admin of the namespace.
create or replace function loci_api.revoke_analyst(p_namespace text, p_login text) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'admin');
begin
    delete from loci_data.grants g using loci_data.agents a
    where g.namespace_id = v_ns and g.agent_id = a.id and a.database_role = p_login::name;
    if not found then
        raise no_data_found using message = format('the analyst %L has no grant in namespace %L', p_login,
                                                   p_namespace), column = 'name';
    end if;
end $$;
comment on function loci_api.revoke_analyst(text, text) is
    'Take an analyst''s grant in a namespace away. Admin. Errors: 42501, P0002.';
