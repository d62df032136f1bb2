-- Agents: their names, the caller's own, and who manages whom.

-- What is an agent called? Views show the name beside the id. Anybody with an id may ask: ids are random, and stand
-- in rows that one may read. A primary-key look-up, for rows in which the name is asked for. Security definer: reads
-- agents, which callers may not, so that nobody can list them. No errors.
create or replace function loci.agent_name(p_agent_id uuid) returns text
language sql stable parallel safe security definer set search_path = ''
as $$
    select a.name from loci_data.agents a where a.id = p_agent_id
$$;
comment on function loci.agent_name(uuid) is 'Name of an agent, or null: there is none with this id. No errors.';

-- Who is asking? The service names the agent of a request in the transaction-local setting loci.agent; people are known
-- by their login. The setting counts only for sessions of the service's role, so an analyst cannot pose as another.
-- Security definer: reads agents, which callers may not.
create or replace function loci.current_agent() returns uuid
language sql stable parallel safe security definer set search_path = ''
as $$
    select case when pg_catalog.pg_has_role(session_user, 'loci_app', 'member')
                then nullif(current_setting('loci.agent', true), '')::uuid
                else (select id from loci_data.agents where database_role = session_user) end
$$;
comment on function loci.current_agent() is
    'Agent of this statement, or null: loci.agent for the service, the login role for analysts.';

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

-- Who is the caller, and what may it do where? Its id is what others name in a grant. home: the namespace whose admins
-- manage its keys; default_namespace: of requests that name none; each null where the caller may not read it (any
-- more), or there is none. space: where its key writes in working memory at home; null: agent/ and its id. user: for
-- whom its key speaks; null: nobody in particular. time_zone: of the one who asks with it; null: UTC. key_id: the key
-- of this request, null without one. grants: JSON array of {namespace, role, expires_at}, by name, those in force now,
-- as far as the key's scope lets them; null for the operator, who is admin everywhere. No row without an agent.
-- Security definer: reads agents and grants. No errors.
create or replace function loci_api.whoami()
returns table (agent_id uuid, name text, kind text, home text, key_id uuid, default_namespace text, space text,
               "user" text, time_zone text, created_at timestamptz, grants jsonb)
language sql stable security definer set search_path = ''
as $$
    with readable as materialized (
        select n.id, n.name from loci_data.namespaces n
        where n.id = any ((select loci.readable_namespaces())::integer[])
    )
    select a.id, a.name, a.kind, (select r.name from readable r where r.id = a.home_id),
           case when a.kind = 'key' then nullif(current_setting('loci.key', true), '')::uuid end,
           (select r.name from readable r where r.name = loci_internal.default_namespace()),
           nullif(current_setting('loci.space', true), ''), nullif(current_setting('loci.user', true), ''),
           (select k.time_zone from loci_data.api_keys k
            where k.id = nullif(current_setting('loci.key', true), '')::uuid),
           a.created_at,
           case when a.kind <> 'operator' then coalesce((
               select jsonb_agg(jsonb_build_object('namespace', r.name, 'role', loci_internal.scoped_role(g.role),
                                                   'expires_at', g.expires_at) order by r.name)
               from loci_data.grants g join readable r on r.id = g.namespace_id where g.agent_id = a.id), '[]') end
    from loci_data.agents a where a.id = loci.current_agent()
$$;
comment on function loci_api.whoami() is
    'The calling agent, its home, the key of this request, and the roles it has; one row, none without an agent.';
