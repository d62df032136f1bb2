-- May the caller act for an agent: make, see, change and revoke its keys, and give it grants that it need not accept?
-- The admins of its home may, with a key that works there, and the operator. Two primary keys.
create or replace function loci_internal.manages_agent(p_agent uuid) returns boolean
language sql stable parallel safe set search_path = ''
as $$
    select loci_internal.is_operator()
           or exists (select from loci_data.agents a where a.id = p_agent and loci_internal.is_admin(a.home_id))
$$;
comment on function loci_internal.manages_agent(uuid) is
    'Whether the caller is an admin of the home of an agent, or the operator.';

-- A key gives no right that it lacks: a key that is kept to namespaces makes and renews none that reaches others, and
-- one that is bound to a space of working memory none that writes elsewhere. Errors: 42501.
create or replace function loci_internal.require_within_own_key(p_namespaces integer[], p_space text) returns void
language plpgsql stable set search_path = ''
as $$
declare
    v_reach integer[] := nullif(current_setting('loci.scope_namespaces', true), '');
    v_space text := nullif(current_setting('loci.space', true), '');
begin
    if not coalesce(p_namespaces <@ v_reach, v_reach is null) then
        raise insufficient_privilege using
            message = 'the key reaches namespaces that your key does not',
            hint = 'Use a key that is not limited to namespaces.';
    elsif not coalesce(loci_internal.path_is_within(p_space, v_space), v_space is null) then
        raise insufficient_privilege using
            message = format('the key writes outside %s, which your key is limited to', v_space),
            hint = 'Use a key without a space.';
    end if;
end $$;
comment on function loci_internal.require_within_own_key(integer[], text) is
    'Refuse a key that may do more than that of the request. Errors: 42501.';
