-- The other tiers: working memory and conversation (seed B).

create table loci_data.working_memory (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    space        text not null,
    key          text not null,
    value        jsonb not null,
    category     text,
    tags         text[] not null default '{}',
    stored_at    timestamptz not null default now(),
    expires_at   timestamptz not null,
    primary key (namespace_id, key),
    constraint working_memory_key_check check (length(key) between 1 and 512)
);
create index working_memory_space on loci_data.working_memory (namespace_id, space, expires_at);

create table loci_data.conversation_turns (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    session_id   text not null,
    id           bigint generated always as identity,
    role         text not null,
    content      text not null,
    metadata     jsonb not null default '{}',
    said_at      timestamptz not null default now(),
    primary key (namespace_id, session_id, id)
);

comment on table loci_data.working_memory is 'Scratch entries with a time to live, keyed by path; an expired entry is never seen, whatever the sweeper does.';
comment on column loci_data.working_memory.namespace_id is 'The namespace.';
comment on column loci_data.working_memory.space is 'First two segments of the key: who may write it.';
comment on column loci_data.working_memory.key is 'Full path.';
comment on column loci_data.working_memory.value is 'Any JSON.';
comment on column loci_data.working_memory.category is 'Free text.';
comment on column loci_data.working_memory.tags is 'Labels.';
comment on column loci_data.working_memory.stored_at is 'When it was written.';
comment on column loci_data.working_memory.expires_at is 'From when it is unseen.';
comment on table loci_data.conversation_turns is 'Turns of a session, in order.';
comment on column loci_data.conversation_turns.namespace_id is 'The namespace.';
comment on column loci_data.conversation_turns.session_id is 'The conversation.';
comment on column loci_data.conversation_turns.id is 'Order of the turns.';
comment on column loci_data.conversation_turns.role is 'user, assistant, ….';
comment on column loci_data.conversation_turns.content is 'What was said.';
comment on column loci_data.conversation_turns.metadata is 'Any JSON object.';
comment on column loci_data.conversation_turns.said_at is 'When.';
