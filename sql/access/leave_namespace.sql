-- Leave a namespace: the agent gives its own grant back, and its next statement there is refused. A guest may always,
-- also as the last admin, which it did not ask to be; at home the last admin stays (require_remaining_admin). Asked by
-- the agent, with a key of scope admin, or by the operator for the agent that it names. Undoing it gives nothing back
-- without the agent (undo_grants). Security definer: writes grants. Errors: 42501, P0002 (no grant there; whether there
-- is such a namespace is not said), 23505 (the last admin).
create or replace function loci_api.leave_namespace(p_namespace text, p_agent uuid default null) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_agent uuid := loci_internal.invited_agent(p_agent);
    v_home  integer := (select a.home_id from loci_data.agents a where a.id = v_agent);
    v_ns    integer := (select n.id from loci_data.grants g join loci_data.namespaces n on n.id = g.namespace_id
                        where g.agent_id = v_agent and n.name = p_namespace and loci_internal.key_reaches(n.id));
    v_old   loci_data.grants;
begin
    perform loci_internal.require_whole_agent();
    if v_ns is not null then
        perform loci_internal.lock_grants(v_ns);
        delete from loci_data.grants g where g.namespace_id = v_ns and g.agent_id = v_agent returning g.* into v_old;
    end if;
    if v_old.agent_id is null then
        raise no_data_found using column = 'namespace',
            message = format('there is no grant in namespace %L', p_namespace),
            hint = 'GET /api/v1/agents/me lists those that there are.';
    elsif v_ns = v_home then
        perform loci_internal.require_remaining_admin(v_ns, v_old);
    end if;
end $$;
comment on function loci_api.leave_namespace(text, uuid) is
    'Give back a grant of the calling agent, or of the one that the operator names. Errors: 42501, P0002, 23505.';
