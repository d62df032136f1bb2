-- Who may read the namespaces that the caller may read, and with what? One row for each agent, or for each of its keys
-- that is not revoked and reaches the namespace; no secrets. The operator may read all of them. reads_now: neither
-- grant nor key has ended, and there is a key, a login or the machine itself. Security definer: reads agents, grants
-- and keys, which callers may not. Ranges of the primary key of grants, then api_keys_agent_id.
create or replace function loci.list_readers()
returns table (namespace text, agent_id uuid, agent text, kind text, role text, granted_at timestamptz,
               grant_expires_at timestamptz, key_id uuid, key text, scope text, key_expires_at timestamptz,
               last_used_at timestamptz, reads_now boolean)
language sql stable security definer set search_path = ''
as $$
    select n.name, a.id, a.name, a.kind, g.role, g.created_at, g.expires_at, k.id, k.name, k.scope, k.expires_at,
           k.last_used_at,
           (g.expires_at is null or g.expires_at > statement_timestamp())
           and (k.expires_at is null or k.expires_at > statement_timestamp())
           and (k.id is not null or a.kind <> 'key')
    from loci_data.namespaces n
    cross join lateral (
        select o.agent_id, o.role, o.created_at, o.expires_at from loci_data.grants o where o.namespace_id = n.id
        union all
        select o.id, 'admin', null, null from loci_data.agents o where o.kind = 'operator') g
    join loci_data.agents a on a.id = g.agent_id
    left join loci_data.api_keys k on k.agent_id = a.id and k.revoked_at is null
        and (k.namespaces is null or n.id = any (k.namespaces))
    where n.id = any (loci.readable_namespaces())
$$;
comment on function loci.list_readers() is
    'Readers of the namespaces that the caller may read: agents with their grants and keys, without secrets.';

create or replace view loci.readers with (security_invoker = true) as
select r.namespace, r.agent_id, r.agent, r.kind, r.role, r.granted_at, r.grant_expires_at, r.key_id, r.key, r.scope,
       r.key_expires_at, r.last_used_at, r.reads_now
from loci.list_readers() r;
comment on view loci.readers is
    'Readers of a namespace: agents with their grants and their keys, without secrets. One row for each agent, or '
    'for each of its keys; superusers of the database stand outside of it.';
comment on column loci.readers.namespace is 'Name of the namespace.';
comment on column loci.readers.agent_id is 'The agent.';
comment on column loci.readers.agent is 'Its name.';
comment on column loci.readers.kind is 'operator (reads every namespace), key (REST and MCP) or analyst (SQL).';
comment on column loci.readers.role is 'reader, writer or admin: all of them read.';
comment on column loci.readers.granted_at is 'Since when it has that role; null: the operator, always.';
comment on column loci.readers.grant_expires_at is 'When the role ends; null: never.';
comment on column loci.readers.key_id is 'An API key of the agent that works here; null: it has none.';
comment on column loci.readers.key is 'Name of the key.';
comment on column loci.readers.scope is 'Largest right of the key: read, write or admin.';
comment on column loci.readers.key_expires_at is 'When the key ends; null: never.';
comment on column loci.readers.last_used_at is 'When the key was used last, in any namespace; null: never.';
comment on column loci.readers.reads_now is
    'Whether it may read at this moment: neither the role nor the key has ended.';
