-- The other tiers: working memory and conversation, and what sessions have asked for.

create table loci_data.working_memory (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    key          text collate "C" not null,
    space        text not null,
    agent_id     uuid not null,
    value        jsonb not null,
    category     text,
    tags         text[] not null default '{}',
    stored_at    timestamptz not null,
    expires_at   timestamptz not null,
    document     tsvector not null default '',
    terms        integer not null default 0,
    primary key (namespace_id, key),
    constraint working_memory_key_check check (length(key) between 3 and 512),
    constraint working_memory_space_check check (space = split_part(key, '/', 1) || '/' || split_part(key, '/', 2))
);
-- Entries are overwritten and swept all the time. No index has a column that changes, and pages have room, so an
-- overwritten entry
-- stays on its page (HOT) and leaves nothing to vacuum; what expires leaves dead rows, which autovacuum takes early.
alter table loci_data.working_memory set (
    fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 250,
    autovacuum_vacuum_insert_threshold = -1,
    autovacuum_analyze_scale_factor = 0.5, autovacuum_vacuum_cost_delay = 0);

create table loci_data.conversation_turns (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    session_id   text collate "C" not null,
    id           bigint generated always as identity,
    agent_id     uuid not null,
    role         text not null,
    content      text not null,
    metadata     jsonb not null default '{}',
    said_at      timestamptz not null,
    logged       boolean not null default true,
    document     tsvector not null default '',
    terms        integer not null default 0,
    primary key (namespace_id, session_id, id),
    constraint conversation_turns_session_check check (length(session_id) between 1 and 255),
    constraint conversation_turns_role_check check (length(role) between 1 and 64),
    constraint conversation_turns_metadata_check
        check (jsonb_typeof(metadata) = 'object' and octet_length(metadata::text) <= 1048576)
);
create index conversation_turns_newest on loci_data.conversation_turns (namespace_id, id);
create index conversation_turns_said on loci_data.conversation_turns (namespace_id, said_at);
create index conversation_turns_log on loci_data.conversation_turns (namespace_id, id) where logged;
create index conversation_turns_consumed on loci_data.conversation_turns (namespace_id, session_id, id)
where not logged;

create table loci_data.context_sessions (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    session_id   text not null,
    agent_id     uuid not null,
    contexts     integer not null,
    first_at     timestamptz not null,
    last_at      timestamptz not null,
    primary key (namespace_id, session_id),
    constraint context_sessions_session_check check (length(session_id) between 1 and 255),
    constraint context_sessions_contexts_check check (contexts >= 0)
);

comment on table loci_data.working_memory is
    'Scratch entries with a time to live, keyed by path; an expired entry is never seen, whatever the sweeper does.';
comment on column loci_data.working_memory.namespace_id is 'The namespace.';
comment on column loci_data.working_memory.key is 'Full path.';
comment on column loci_data.working_memory.space is
    'First two segments of the key; it belongs to the agent that has live entries in it, and only that one writes '
    'there.';
comment on column loci_data.working_memory.agent_id is 'Whose entry it is.';
comment on column loci_data.working_memory.value is 'Any JSON.';
comment on column loci_data.working_memory.category is 'Slash path, or null.';
comment on column loci_data.working_memory.tags is 'Labels.';
comment on column loci_data.working_memory.stored_at is 'When it was written.';
comment on column loci_data.working_memory.expires_at is 'From when it is unseen.';
comment on column loci_data.working_memory.document is
    'Words of key, value, category and tags, in the namespace''s language; derived.';
comment on column loci_data.working_memory.terms is 'How many words that are; derived.';
comment on table loci_data.conversation_turns is
    'Turns of a session, in order: the last ones are replayed to the model, those still in the log wait for the '
    'passes that learn from them.';
comment on column loci_data.conversation_turns.namespace_id is 'The namespace.';
comment on column loci_data.conversation_turns.session_id is 'The conversation.';
comment on column loci_data.conversation_turns.id is
    'Order of the turns of a session: given out under the session''s lock, so a later turn always has a higher one.';
comment on column loci_data.conversation_turns.agent_id is 'Who wrote it.';
comment on column loci_data.conversation_turns.role is 'user, assistant, system, tool, ….';
comment on column loci_data.conversation_turns.content is 'What was said.';
comment on column loci_data.conversation_turns.metadata is 'Any JSON object.';
comment on column loci_data.conversation_turns.said_at is 'When.';
comment on column loci_data.conversation_turns.logged is
    'Whether the turn is in the log that later passes consume; they clear it.';
comment on column loci_data.conversation_turns.document is
    'Words of the content, in the namespace''s language; derived.';
comment on column loci_data.conversation_turns.terms is 'How many words that are; derived.';
comment on table loci_data.context_sessions is
    'Sessions for which a context was built: the first one of a session may fall back to memories that no query found.';
comment on column loci_data.context_sessions.namespace_id is 'The namespace.';
comment on column loci_data.context_sessions.session_id is 'The session.';
comment on column loci_data.context_sessions.agent_id is 'Who asked last.';
comment on column loci_data.context_sessions.contexts is
    'How often since its last end: the first one of these may fall back.';
comment on column loci_data.context_sessions.first_at is 'When first.';
comment on column loci_data.context_sessions.last_at is 'When last.';
