-- What use says about the graph: what sessions were shown, what they found again, and what that changed.

create table loci_data.injections (
    namespace_id integer not null,
    session_id   text not null,
    memory_id    uuid not null,
    agent_id     uuid not null,
    injected_at  timestamptz not null,
    hits         integer not null default 0,
    last_hit_at  timestamptz,
    ended_at     timestamptz,
    primary key (namespace_id, session_id, memory_id),
    constraint injections_memory_fkey foreign key (namespace_id, memory_id)
        references loci_data.memories (namespace_id, id) on delete cascade,
    constraint injections_session_check check (length(session_id) between 1 and 255),
    constraint injections_hits_check check (hits >= 0 and (hits > 0) = (last_hit_at is not null))
);
create index injections_memory on loci_data.injections (namespace_id, memory_id);
create index injections_injected on loci_data.injections (namespace_id, injected_at);

create table loci_data.session_ends (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    session_id   text not null,
    agent_id     uuid not null,
    ended_at     timestamptz not null,
    primary key (namespace_id, session_id),
    constraint session_ends_session_check check (length(session_id) between 1 and 255)
);

create table loci_data.session_counts (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    agent_id     uuid not null,
    sessions     integer not null,
    decayed_at   timestamptz,
    updated_at   timestamptz not null,
    primary key (namespace_id, agent_id),
    constraint session_counts_sessions_check check (sessions >= 0)
);

create table loci_data.feedback_events (
    namespace_id  integer not null references loci_data.namespaces on delete cascade,
    id            uuid not null,
    at            timestamptz not null,
    agent_id      uuid not null,
    session_id    text not null,
    kind          text not null,
    aspects       integer not null,
    confirmations integer not null,
    change        double precision not null,
    primary key (namespace_id, id),
    constraint feedback_events_kind_check check (kind in ('confirmation', 'decay'))
);
create index feedback_events_session on loci_data.feedback_events (namespace_id, session_id, id);

comment on table loci_data.injections is
    'Memories that were shown to a session, and whether a full-text search of that session found them later.';
comment on column loci_data.injections.namespace_id is 'The namespace.';
comment on column loci_data.injections.session_id is
    'The conversation of the agent; not the one that the memory comes from.';
comment on column loci_data.injections.memory_id is 'The memory.';
comment on column loci_data.injections.agent_id is 'Who injected it.';
comment on column loci_data.injections.injected_at is 'When; only hits after that count.';
comment on column loci_data.injections.hits is 'How many later searches of the session found it by its words.';
comment on column loci_data.injections.last_hit_at is 'When the last of them did.';
comment on column loci_data.injections.ended_at is
    'When the session''s end took account of it; injected again after that, it begins anew.';
comment on table loci_data.session_ends is
    'When a session was last ended. Ended again with nothing injected since, nothing happens.';
comment on column loci_data.session_ends.namespace_id is 'The namespace.';
comment on column loci_data.session_ends.session_id is 'The session.';
comment on column loci_data.session_ends.agent_id is 'Who ended it.';
comment on column loci_data.session_ends.ended_at is 'When.';
comment on table loci_data.session_counts is
    'How many sessions an agent has ended: every tenth lowers the weight of aspects that nothing confirms.';
comment on column loci_data.session_counts.namespace_id is 'The namespace.';
comment on column loci_data.session_counts.agent_id is 'The agent.';
comment on column loci_data.session_counts.sessions is 'Sessions ended; ending one twice counts once.';
comment on column loci_data.session_counts.decayed_at is 'When the count last made weights decay.';
comment on column loci_data.session_counts.updated_at is 'When the last session was counted.';
comment on table loci_data.feedback_events is
    'What sessions have changed in the weights of aspects: one row a change that touched any.';
comment on column loci_data.feedback_events.namespace_id is 'The namespace.';
comment on column loci_data.feedback_events.id is 'Identifier (UUID version 7): its order is the order of the changes.';
comment on column loci_data.feedback_events.at is 'When.';
comment on column loci_data.feedback_events.agent_id is 'Who ended the session.';
comment on column loci_data.feedback_events.session_id is 'The session whose end it was.';
comment on column loci_data.feedback_events.kind is
    'confirmation: aspects gained weight; decay: aspects that nothing confirmed lost some.';
comment on column loci_data.feedback_events.aspects is 'Number of aspects touched.';
comment on column loci_data.feedback_events.confirmations is
    'Memories that were shown and found again, counted once for each aspect; 0 for decay.';
comment on column loci_data.feedback_events.change is 'Sum of the changes of weight.';
