-- Readers: which namespaces a caller may read, and which logins read.

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

-- Which namespaces may the caller read? Policies ask once per statement (scalar subquery). A key that names its
-- namespaces reads those alone. A namespace that moved to another cell has no row in namespaces, and is not read. A
-- probe of two primary keys for each grant. Security definer: reads grants, which callers may not.
create or replace function loci.readable_namespaces() returns integer[]
language plpgsql stable parallel safe security definer set search_path = ''
as $$
declare
    v_caller uuid := loci.current_agent();
begin
    if exists (select from loci_data.agents where id = v_caller and kind = 'operator') then
        return array(select id from loci_data.namespaces);
    end if;
    return array(select g.namespace_id from loci_data.grants g
                 where g.agent_id = v_caller and (g.expires_at is null or g.expires_at > clock_timestamp())
                   and loci_internal.key_reaches(g.namespace_id)
                   and exists (select from loci_data.namespaces n where n.id = g.namespace_id));
end $$;
comment on function loci.readable_namespaces() is
    'Ids of the namespaces that the caller holds a grant in; all of them for the operator, none without an agent.';

-- Which column of a view leads to which row of which view? PostgreSQL has no foreign keys between views, so the comment
-- of such a column ends with "Joins view.column.", which this reads: one row a column. Programs that draw joins need no
-- list of their own. Reads the catalogue alone. A function, because a migration locks views with the tables under them,
-- and nobody may lock the catalogue's.
create or replace function loci.list_foreign_keys()
returns table (view_name text, column_name text, foreign_view text, foreign_column text)
language sql stable set search_path = ''
as $$
    select c.relname::text, a.attname::text, j.leads[1], j.leads[2]
    from pg_catalog.pg_class c
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    cross join lateral regexp_match(pg_catalog.col_description(c.oid, a.attnum), 'Joins (\w+)\.(\w+)\.$') j(leads)
    where c.relnamespace = 'loci'::regnamespace and c.relkind = 'v' and j.leads is not null
$$;
comment on function loci.list_foreign_keys() is
    'Which column of a view leads to which other view: foreign keys, as their comments state them.';

create or replace view loci.foreign_keys with (security_invoker = true) as
select f.view_name, f.column_name, f.foreign_view, f.foreign_column from loci.list_foreign_keys() f;
comment on view loci.foreign_keys is
    'Which column of a view leads to which other view: foreign keys, as their comments state them. Compare the '
    'namespace too, where both views have one.';
comment on column loci.foreign_keys.view_name is 'The view that has the column.';
comment on column loci.foreign_keys.column_name is 'The column.';
comment on column loci.foreign_keys.foreign_view is 'The view that it leads to.';
comment on column loci.foreign_keys.foreign_column is 'The column there, which names one row.';
