-- Grants become what they were before an operation: those that it gave are taken away, those that it changed or took away are as they
-- were. What a grant that was taken away said stands in the change before. p_left: agents to leave alone. Returns how many.
-- Called by undo_operation, for admins only; internal.
-- Errors: 23505 (the last admin).
create or replace function loci.undo_grants(p_namespace_id integer, p_operation uuid, p_left uuid[]) returns integer
language plpgsql volatile set search_path = ''
as $$
declare
    v_net   record;
    v_was   record;
    v_old   loci_data.grants;
    v_count integer := 0;
begin
    perform loci.lock_grants(p_namespace_id);
    for v_net in
        select n.* from loci.net_changes(p_namespace_id, p_operation, 'grant') n
        where n.subject_id <> all (p_left) and not (n.created and n.erased) order by n.subject_id
    loop
        select g.* into v_old from loci_data.grants g where g.namespace_id = p_namespace_id and g.agent_id = v_net.subject_id;
        if v_net.created then
            delete from loci_data.grants g where g.namespace_id = p_namespace_id and g.agent_id = v_net.subject_id;
        else
            select x.role, x.expires_at into v_was from loci.grant_before(p_namespace_id, p_operation, v_net.subject_id) x;
            insert into loci_data.grants as g (namespace_id, agent_id, role, expires_at)
            select p_namespace_id, a.id, v_was.role, v_was.expires_at from loci_data.agents a where a.id = v_net.subject_id and v_was.role is not null
            on conflict (namespace_id, agent_id) do update set role = excluded.role, expires_at = excluded.expires_at;
        end if;
        perform loci.keep_admin(p_namespace_id, v_old);
        v_count := v_count + 1;
    end loop;
    return v_count;
end $$;
comment on function loci.undo_grants(integer, uuid, uuid[]) is 'Make grants what they were before an operation; how many. Internal.';
