-- Who is the caller, and what may it do where? Its id is what others name in a grant. home: the namespace whose admins
-- manage its keys; default_namespace: of requests that name none; each null where the caller may not read it (any
-- more), or there is none. space: where its key writes in working memory at home; null: agent/ and its id. user: for
-- whom its key speaks; null: nobody in particular. time_zone: of the one who asks with it; null: UTC. key_id: the key
-- of this request, null without one. grants: JSON array of {namespace, role, expires_at}, by name, those in force now,
-- as far as the key's scope lets them; null for the operator, who is admin everywhere. No row without an agent.
-- Security definer: reads agents and grants. No errors.
create or replace function loci_api.whoami()
returns table (agent_id uuid, name text, kind text, home text, key_id uuid, default_namespace text, space text,
               "user" text, time_zone text,
               created_at timestamptz, grants jsonb)
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
