-- Who may see what: namespaces, agents, their keys and their grants.

create table loci_data.namespaces (
    id            integer generated always as identity primary key,
    name          text not null unique,
    description   text,
    language      regconfig not null default 'pg_catalog.english',
    settings      jsonb not null default '{}',
    rates_version integer not null default 0,
    indexed_by    integer not null default current_setting('server_version_num')::integer / 10000,
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now(),
    constraint namespaces_name_check check (name ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
    constraint namespaces_settings_check check (jsonb_typeof(settings) = 'object')
);

create table loci_data.agents (
    id            uuid primary key,
    name          text not null,
    kind          text not null,
    home_id       integer,
    database_role name unique,
    statement_limit interval,
    created_at    timestamptz not null default now(),
    constraint agents_statement_limit_check check (statement_limit is null
                                                   or (kind = 'analyst' and statement_limit > interval '0')),
    constraint agents_kind_check check (kind in ('operator', 'key', 'analyst')),
    constraint agents_database_role_check check ((kind = 'analyst') = (database_role is not null)),
    constraint agents_home_check check (home_id is null or kind = 'key')
);
create index agents_home_id on loci_data.agents (home_id) where home_id is not null;

create table loci_data.api_keys (
    id           uuid primary key,
    agent_id     uuid not null references loci_data.agents on delete cascade,
    name         text not null,
    fingerprint  bytea not null unique generated always as (substr(sha256(hash), 1, 8)) stored,
    hash         bytea not null,
    scope        text not null default 'admin',
    namespaces   integer[],
    default_namespace_id integer not null,
    space        text,
    rate_limit   integer,
    bucket       uuid not null,
    created_by   uuid,
    created_at   timestamptz not null default now(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    replaced_by  uuid,
    last_used_at timestamptz,
    constraint api_keys_hash_check check (octet_length(hash) = 32),
    constraint api_keys_name_check check (length(name) between 1 and 255),
    constraint api_keys_scope_check check (scope in ('read', 'write', 'admin')),
    constraint api_keys_rate_limit_check check (rate_limit between 1 and 1000000),
    constraint api_keys_default_namespace_check check (default_namespace_id = any (namespaces)),
    constraint api_keys_space_check check (length(space) <= 255 and space ~ '^[^/]+(/[^/]+)?$'
                                           and space !~ '[\u0001-\u001f\u007f-\u009f]'
                                           and space !~ '(^|/)\.\.?(/|$)' and space !~ '^agent(/|$)')
) with (fillfactor = 80);
create index api_keys_agent_id on loci_data.api_keys (agent_id);

create table loci_data.grants (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    agent_id     uuid not null references loci_data.agents on delete cascade,
    role         text not null,
    expires_at   timestamptz,
    created_at   timestamptz not null default now(),
    primary key (namespace_id, agent_id),
    constraint grants_role_check check (role in ('reader', 'writer', 'admin'))
);
create index grants_agent_id on loci_data.grants (agent_id, namespace_id);

create table loci_data.invitations (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    agent_id     uuid not null,
    role         text not null,
    expires_at   timestamptz,
    created_at   timestamptz not null default now(),
    primary key (namespace_id, agent_id),
    constraint invitations_role_check check (role in ('reader', 'writer', 'admin'))
);
create index invitations_agent_id on loci_data.invitations (agent_id, namespace_id);

create table loci_data.idempotency_keys (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    agent_id     uuid not null references loci_data.agents on delete cascade,
    key          text not null,
    request_hash bytea not null,
    status       smallint not null,
    response     jsonb not null,
    resource_ids uuid[] not null default '{}',
    created_at   timestamptz not null default now(),
    primary key (namespace_id, agent_id, key),
    constraint idempotency_keys_key_check check (length(key) between 1 and 255)
);
create index idempotency_keys_resource_ids on loci_data.idempotency_keys using gin (resource_ids);

comment on table loci_data.namespaces is
    'The unit of isolation: one agent''s, or one team''s, whole world. Every other row belongs to one.';
comment on column loci_data.namespaces.id is
    'Internal number; first column of every key, so that the tables can be distributed by it.';
comment on column loci_data.namespaces.name is 'Public name: [a-z0-9][a-z0-9._-]{0,63}.';
comment on column loci_data.namespaces.description is 'Free text for people.';
comment on column loci_data.namespaces.language is
    'Text search configuration that cuts this namespace''s texts and questions into terms.';
comment on column loci_data.namespaces.settings is
    'Overrides of loci.default_settings(); absent keys have the default.';
comment on column loci_data.namespaces.rates_version is
    'Grows with every change of a rate of decay or of the threshold; who writes edges locks the version whose rates '
    'it reads.';
comment on column loci_data.namespaces.indexed_by is
    'Major version of the PostgreSQL that cut the words of its memories: another one may stem some of them otherwise.';
comment on column loci_data.namespaces.created_at is 'When the namespace was made.';
comment on column loci_data.namespaces.updated_at is 'When name, description or settings last changed.';
comment on table loci_data.agents is
    'Callers: the operator (the service''s own machine), holders of API keys, and analysts with a database role.';
comment on column loci_data.agents.id is 'Identifier; the all-zero one is the operator.';
comment on column loci_data.agents.name is 'Name given when the agent was made.';
comment on column loci_data.agents.kind is 'operator (every namespace, admin), key (REST and MCP), analyst (SQL).';
comment on column loci_data.agents.home_id is
    'Number of its home: the namespace whose admins make, change and revoke its keys. Null: the operator does, as it '
    'does where the home was deleted, which leaves its number.';
comment on column loci_data.agents.database_role is 'The login role of an analyst; null for the others.';
comment on column loci_data.agents.statement_limit is
    'How long a statement of this analyst may run before loci_api.stop_analysts cancels it; null for the others.';
comment on column loci_data.agents.created_at is 'When the agent was made.';
comment on table loci_data.api_keys is 'API keys. Only the SHA-256 of a key is kept; the key itself is shown once.';
comment on column loci_data.api_keys.id is 'Identifier, also the readable part of the key.';
comment on column loci_data.api_keys.agent_id is 'The agent that the key speaks for.';
comment on column loci_data.api_keys.name is 'Name for people.';
comment on column loci_data.api_keys.fingerprint is
    'Start of the SHA-256 of hash: what a key is looked up by, which says nothing of the key.';
comment on column loci_data.api_keys.hash is 'SHA-256 of the whole key (32 bytes).';
comment on column loci_data.api_keys.scope is
    'read, write or admin: what the key does at most of what its agent may; read stands for reader, write for writer.';
comment on column loci_data.api_keys.namespaces is
    'Numbers of the namespaces that the key works in, of those that its agent reaches; null: all of them. A namespace '
    'that was deleted leaves its number, which is never given again.';
comment on column loci_data.api_keys.default_namespace_id is
    'Number of the namespace of requests that name none; never another, also where it is no longer granted or was '
    'deleted.';
comment on column loci_data.api_keys.space is
    'Path in working memory that the key writes under at its agent''s home, one or two segments; null: agent/ and the '
    'agent''s id.';
comment on column loci_data.api_keys.rate_limit is 'Requests a minute; null: the default of the service.';
comment on column loci_data.api_keys.bucket is
    'What its requests draw from (rate_buckets): its own id, or that of the key whose place it took.';
comment on column loci_data.api_keys.created_by is 'The agent that made it; null: somebody with rights of the owner.';
comment on column loci_data.api_keys.created_at is 'When the key was made.';
comment on column loci_data.api_keys.expires_at is 'The key is refused from this moment on; null: never.';
comment on column loci_data.api_keys.revoked_at is 'The key is refused since this moment; null: not revoked.';
comment on column loci_data.api_keys.replaced_by is 'The key that took its place by rotation; null: none.';
comment on column loci_data.api_keys.last_used_at is 'When a request last carried it, to within seconds; null: never.';
comment on table loci_data.grants is
    'The role of an agent in a namespace. Policies and functions read this table on every statement.';
comment on column loci_data.grants.namespace_id is 'The namespace.';
comment on column loci_data.grants.agent_id is 'The agent.';
comment on column loci_data.grants.role is 'reader, writer or admin; each includes the ones before it.';
comment on column loci_data.grants.expires_at is 'The grant is void from this moment on; null: never.';
comment on column loci_data.grants.created_at is 'When it came into force.';
comment on table loci_data.invitations is
    'Grants that an agent of another home has not accepted. They give nothing to anybody, so nothing that asks for '
    'rights reads this table.';
comment on column loci_data.invitations.namespace_id is 'The namespace that invites.';
comment on column loci_data.invitations.agent_id is
    'The agent as it was named. There may be none: who invites is not told.';
comment on column loci_data.invitations.role is 'The role that it would have.';
comment on column loci_data.invitations.expires_at is 'When the grant, and so the invitation, is void; null: never.';
comment on column loci_data.invitations.created_at is 'When it was first made.';
comment on table loci_data.idempotency_keys is
    'Replies to requests that carried an Idempotency-Key, written in the transaction of the request itself.';
comment on column loci_data.idempotency_keys.namespace_id is 'The namespace of the request.';
comment on column loci_data.idempotency_keys.agent_id is 'The agent that sent it; keys of different agents never meet.';
comment on column loci_data.idempotency_keys.key is 'The header''s value.';
comment on column loci_data.idempotency_keys.request_hash is
    'SHA-256 of method, path and body: the same key with another request is refused. Empty once the reply was erased.';
comment on column loci_data.idempotency_keys.status is 'HTTP status of the reply; 410: it was erased.';
comment on column loci_data.idempotency_keys.response is 'The reply.';
comment on column loci_data.idempotency_keys.resource_ids is
    'Everything that the reply speaks of by its id: memories, entities, edges, …; erasing one of them replaces the '
    'reply.';
comment on column loci_data.idempotency_keys.created_at is 'When the request was answered.';

insert into loci_data.agents (id, name, kind) values ('00000000-0000-0000-0000-000000000000', 'operator', 'operator');
insert into loci_data.namespaces (name, description) values ('default', 'The namespace of callers that name none.');
