-- Make the namespace that a write names, if it does not exist; nothing where the caller may not, so that the refusal is
-- that of every unknown namespace. The operator may, and an agent that is admin at its home, with a key that is limited
-- neither in scope nor to namespaces; it is the new one's admin. Two writers at once make one. A probe of the unique
-- name. Errors: 23514 (name).
create or replace function loci_internal.create_named_namespace(p_name text) returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_agent    uuid := loci.current_agent();
    v_operator boolean := loci_internal.is_operator();
    v_id       integer;
begin
    if exists (select from loci_data.namespaces n where n.name = p_name)
        or exists (select from loci_data.namespace_cells c where c.name = p_name)
        or not v_operator and (coalesce(current_setting('loci.scope_namespaces', true), '') <> ''
                               or not exists (select from loci_data.agents a
                                              where a.id = v_agent and loci_internal.is_admin(a.home_id))) then
        return;
    end if;
    insert into loci_data.namespaces (name) values (p_name) on conflict (name) do nothing returning id into v_id;
    if v_id is not null and not v_operator then
        perform loci_internal.give_grant(v_id, v_agent, 'admin', null, true);
    end if;
end $$;
comment on function loci_internal.create_named_namespace(text) is
    'Make the namespace that a write names, where the caller may. Errors: 23514.';
