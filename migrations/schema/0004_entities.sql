-- The knowledge graph's nodes: entities and their names, where they are mentioned, and settings of edge types.

create table loci_data.entities (
    namespace_id       integer not null references loci_data.namespaces on delete cascade,
    id                 uuid not null,
    name               text not null,
    canonical_name     text not null,
    type               text not null default 'unknown',
    aliases            text[] not null default '{}',
    description        text,
    confidence         double precision not null default 0.5,
    initial_confidence double precision not null default 0.5,
    mentions           integer not null default 0,
    observations       integer not null default 1,
    pinned             boolean not null default false,
    pinned_at          timestamptz,
    metadata           jsonb not null default '{}',
    first_seen_at      timestamptz not null,
    created_at         timestamptz not null,
    updated_at         timestamptz not null,
    last_referenced_at timestamptz,
    merged_into        uuid,
    merged_at          timestamptz,
    hidden             boolean not null default false,
    primary key (namespace_id, id),
    constraint entities_merged_into_fkey foreign key (namespace_id, merged_into)
        references loci_data.entities (namespace_id, id) on delete cascade deferrable,
    constraint entities_merged_check check ((merged_into is null) = (merged_at is null)),
    constraint entities_name_check check (length(name) between 1 and 255 and canonical_name <> ''),
    constraint entities_type_check check (type ~ '^[a-z0-9][a-z0-9_-]{0,63}$'),
    constraint entities_aliases_check check (cardinality(aliases) <= 100 and array_position(aliases, null) is null),
    constraint entities_confidence_check check (confidence between 0 and 1 and initial_confidence between 0 and 1),
    constraint entities_mentions_check check (mentions >= 0),
    constraint entities_hidden_check check (not hidden or mentions = 0 and observations = 0 and not pinned),
    constraint entities_pinned_check check (pinned = (pinned_at is not null)),
    constraint entities_metadata_check
        check (jsonb_typeof(metadata) = 'object' and octet_length(metadata::text) <= 1048576),
    constraint entities_first_seen_check check (first_seen_at <= created_at)
) with (fillfactor = 85);  -- counters change at every observation
create unique index entities_canonical_name_key on loci_data.entities (namespace_id, canonical_name)
where merged_into is null;
-- as people write it in SQL
create index entities_name on loci_data.entities (namespace_id, name) where name is not null;
create index entities_merged_into on loci_data.entities (namespace_id, merged_into) where merged_into is not null;
create index entities_pinned on loci_data.entities (namespace_id, pinned_at, id) where pinned_at is not null;
create index entities_hidden on loci_data.entities (namespace_id, id) where hidden;
create index entities_projects on loci_data.entities (namespace_id, id) where type = 'project';

create table loci_data.entity_beliefs (
    namespace_id   integer not null,
    entity_id      uuid not null,
    name           text not null,
    canonical_name text not null,
    type           text not null,
    aliases        text[] not null,
    description    text,
    metadata       jsonb not null,
    pinned_at      timestamptz,
    first_seen_at  timestamptz not null,
    merged_into    uuid,
    hidden         boolean not null default false,
    believed_at    timestamptz not null,
    believed_to    timestamptz not null,
    primary key (namespace_id, entity_id, believed_to),
    constraint entity_beliefs_entity_fkey foreign key (namespace_id, entity_id)
        references loci_data.entities (namespace_id, id) on delete cascade,
    constraint entity_beliefs_believed_check check (believed_to > believed_at)
);
create index entity_beliefs_hidden on loci_data.entity_beliefs (namespace_id, entity_id) where hidden;
create index entity_beliefs_name on loci_data.entity_beliefs (namespace_id, canonical_name);
create index entity_beliefs_until on loci_data.entity_beliefs (namespace_id, believed_to);

create table loci_data.entity_places (
    namespace_id integer not null,
    entity_id    uuid not null,
    x            real not null,
    y            real not null,
    primary key (namespace_id, entity_id),
    constraint entity_places_entity_fkey foreign key (namespace_id, entity_id)
        references loci_data.entities (namespace_id, id) on delete cascade,
    constraint entity_places_finite_check check (abs(x) < 1e6 and abs(y) < 1e6)
);

create table loci_data.entity_names (
    namespace_id   integer not null,
    canonical_name text collate "C" not null,
    entity_id      uuid not null,
    is_alias       boolean not null,
    tokens         smallint not null,
    head           integer not null,
    primary key (namespace_id, canonical_name, is_alias, entity_id),
    constraint entity_names_entity_fkey foreign key (namespace_id, entity_id)
        references loci_data.entities (namespace_id, id) on delete cascade
);
create index entity_names_entity on loci_data.entity_names (namespace_id, entity_id);
create index entity_names_head on loci_data.entity_names (namespace_id, head, tokens);

create table loci_data.memory_mentions (
    namespace_id integer not null,
    memory_id    uuid not null,
    entity_id    uuid not null,
    mention_text text not null,
    confidence   double precision not null default 1.0,
    observed     boolean not null default false,
    session_id   text,
    created_at   timestamptz not null default now(),
    operation_id uuid default nullif(current_setting('loci.operation', true), '')::uuid,
    primary key (namespace_id, memory_id, entity_id),
    constraint memory_mentions_memory_fkey foreign key (namespace_id, memory_id)
        references loci_data.memories (namespace_id, id) on delete cascade,
    constraint memory_mentions_entity_fkey foreign key (namespace_id, entity_id)
        references loci_data.entities (namespace_id, id) on delete cascade,
    constraint memory_mentions_confidence_check check (confidence between 0 and 1)
);
create index memory_mentions_entity on loci_data.memory_mentions (namespace_id, entity_id, memory_id);

-- Which conversations have observed an entity; those without a session are memories, and stand in memory_mentions.
create table loci_data.entity_sessions (
    namespace_id      integer not null,
    entity_id         uuid not null,
    session_id        text not null,
    observations      integer not null,
    first_observed_at timestamptz not null,
    last_observed_at  timestamptz not null,
    primary key (namespace_id, entity_id, session_id),
    constraint entity_sessions_entity_fkey foreign key (namespace_id, entity_id)
        references loci_data.entities (namespace_id, id) on delete cascade,
    constraint entity_sessions_session_check check (length(session_id) between 1 and 255),
    constraint entity_sessions_observed_check check (observations > 0 and last_observed_at >= first_observed_at)
);

-- Names found in texts without a model. A name that two memories share becomes an entity; until then it waits here.
create table loci_data.name_candidates (
    namespace_id   integer not null,
    canonical_name text not null,
    memory_id      uuid not null,
    name           text not null,
    primary key (namespace_id, canonical_name, memory_id),
    constraint name_candidates_memory_fkey foreign key (namespace_id, memory_id)
        references loci_data.memories (namespace_id, id) on delete cascade
);
create index name_candidates_memory on loci_data.name_candidates (namespace_id, memory_id);

create table loci_data.name_queue (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    memory_id    uuid not null,
    enqueued_at  timestamptz not null default now(),
    primary key (namespace_id, memory_id)
);
create index name_queue_waiting on loci_data.name_queue (namespace_id, enqueued_at);

create table loci_data.edge_types (
    namespace_id  integer not null references loci_data.namespaces on delete cascade,
    type          text not null,
    decay_rate    double precision,
    single_valued boolean not null default false,
    description   text,
    updated_at    timestamptz not null default now(),
    primary key (namespace_id, type),
    constraint edge_types_type_check check (length(type) between 1 and 128),
    constraint edge_types_decay_rate_check check (decay_rate >= 0 and decay_rate < 'infinity')
);

comment on table loci_data.entities is
    'Named things: people, projects, tools, topics and more. One row a canonical name, merged and removed '
    'ones aside.';
comment on column loci_data.entities.namespace_id is 'The namespace.';
comment on column loci_data.entities.id is 'Identifier.';
comment on column loci_data.entities.name is 'Name as first written.';
comment on column loci_data.entities.canonical_name is 'Lower-cased, white space folded: loci.canonical_name(name).';
comment on column loci_data.entities.type is
    'person, project, topic, tool, …; unknown and extracted give way to any other.';
comment on column loci_data.entities.aliases is 'Other names; looked up like the name.';
comment on column loci_data.entities.description is 'Free text.';
comment on column loci_data.entities.confidence is
    '0 to 1; observed in a new conversation it is restored, by the setting reinforcement.';
comment on column loci_data.entities.initial_confidence is
    'Confidence at the first observation, or as last set by hand.';
comment on column loci_data.entities.mentions is
    'Number of memories that mention it; a present figure, at whatever moment it is asked for.';
comment on column loci_data.entities.observations is
    'How often it was written or extracted, once a memory; a present figure, like confidence.';
comment on column loci_data.entities.pinned is 'Pinned entities are always focal and never removed by a sweep.';
comment on column loci_data.entities.pinned_at is 'When it was pinned.';
comment on column loci_data.entities.metadata is 'Any JSON object.';
comment on column loci_data.entities.first_seen_at is
    'Valid time: the earliest moment that anything said about it dates from; a back-dated memory or edge lowers it.';
comment on column loci_data.entities.created_at is 'Recorded time: when it was first written.';
comment on column loci_data.entities.updated_at is 'When any column last changed.';
comment on column loci_data.entities.last_referenced_at is 'When a text last matched it, by touch.';
comment on column loci_data.entities.merged_into is
    'The entity that it was merged into: from then on its id, name and aliases lead there. Its own id: it was '
    'removed, and leads nowhere. Null: it stands for itself.';
comment on column loci_data.entities.merged_at is 'Recorded time: when it was merged or removed.';
comment on column loci_data.entities.hidden is
    'Out of sight: forgotten memories alone show it. Whatever else is said of it brings it back.';
comment on table loci_data.entity_beliefs is
    'What was believed of an entity before: kept by a trigger whenever what it says of itself changes (not counters), '
    'so that known_at can be answered.';
comment on column loci_data.entity_beliefs.namespace_id is 'The namespace.';
comment on column loci_data.entity_beliefs.entity_id is 'The entity.';
comment on column loci_data.entity_beliefs.name is 'The name then.';
comment on column loci_data.entity_beliefs.canonical_name is 'The canonical name then.';
comment on column loci_data.entity_beliefs.type is 'The type then.';
comment on column loci_data.entity_beliefs.aliases is 'The aliases then.';
comment on column loci_data.entity_beliefs.description is 'The description then.';
comment on column loci_data.entity_beliefs.metadata is 'The metadata then.';
comment on column loci_data.entity_beliefs.pinned_at is 'Since when it was pinned then; null: it was not.';
comment on column loci_data.entity_beliefs.first_seen_at is 'The first_seen_at believed then.';
comment on column loci_data.entity_beliefs.merged_into is
    'What it was merged into then; its own id: it was removed; null: it stood for itself.';
comment on column loci_data.entity_beliefs.hidden is 'Whether it was out of sight then.';
comment on column loci_data.entity_beliefs.believed_at is 'Since when this was believed.';
comment on column loci_data.entity_beliefs.believed_to is 'Until when (exclusive).';
comment on table loci_data.entity_places is
    'Where an entity stands in the constellation. Found when the picture is first asked for; whoever comes later is '
    'placed among those that are there, and nobody is moved.';
comment on column loci_data.entity_places.namespace_id is 'The namespace.';
comment on column loci_data.entity_places.entity_id is 'The entity.';
comment on column loci_data.entity_places.x is 'To the right; 1 is about the length of an edge.';
comment on column loci_data.entity_places.y is 'Upwards, in the same unit.';
comment on table loci_data.entity_names is
    'Every name and alias of every entity, kept by a trigger: one indexed look-up finds an entity by any of them.';
comment on column loci_data.entity_names.namespace_id is 'The namespace.';
comment on column loci_data.entity_names.canonical_name is
    'Canonical form of the name or alias; in code point order, so that names which begin with a word are a range of '
    'the key.';
comment on column loci_data.entity_names.entity_id is 'The entity.';
comment on column loci_data.entity_names.is_alias is 'False for the name itself, which wins over an alias.';
comment on column loci_data.entity_names.tokens is
    'Number of words and punctuation marks in it: see loci_internal.mark_tokens.';
comment on column loci_data.entity_names.head is
    'Hash of its first two tokens, the first in the upper half: finds the places of a text where it may stand.';
comment on table loci_data.memory_mentions is 'Which memory mentions which entity.';
comment on column loci_data.memory_mentions.namespace_id is 'The namespace.';
comment on column loci_data.memory_mentions.memory_id is 'The memory.';
comment on column loci_data.memory_mentions.entity_id is 'The entity.';
comment on column loci_data.memory_mentions.mention_text is 'The name as it stood in the write.';
comment on column loci_data.memory_mentions.confidence is '0 to 1.';
comment on column loci_data.memory_mentions.observed is
    'Whether the memory has counted as an observation of the entity: it does so once.';
comment on column loci_data.memory_mentions.session_id is
    'The conversation that this observation counted in; null: the memory is one of its own.';
comment on column loci_data.memory_mentions.created_at is 'When the mention was recorded.';
comment on column loci_data.memory_mentions.operation_id is
    'The operation that found it: an entity that only its own operation mentions goes when that is undone.';
comment on table loci_data.entity_sessions is
    'Which conversations have observed an entity, and how often: a new one restores its confidence, the same one only '
    'counts.';
comment on column loci_data.entity_sessions.namespace_id is 'The namespace.';
comment on column loci_data.entity_sessions.entity_id is 'The entity.';
comment on column loci_data.entity_sessions.session_id is 'The conversation.';
comment on column loci_data.entity_sessions.observations is 'Observations of the entity in it.';
comment on column loci_data.entity_sessions.first_observed_at is 'Valid time: what the earliest of them dates from.';
comment on column loci_data.entity_sessions.last_observed_at is 'Valid time: what the latest of them dates from.';
comment on table loci_data.name_candidates is
    'Proper-noun phrases, and what they end with, seen in one memory so far. The second memory makes an entity of '
    'type extracted of them.';
comment on column loci_data.name_candidates.namespace_id is 'The namespace.';
comment on column loci_data.name_candidates.canonical_name is 'Canonical form of the phrase.';
comment on column loci_data.name_candidates.memory_id is 'The memory that has it.';
comment on column loci_data.name_candidates.name is 'The phrase as it stands in the memory.';
comment on table loci_data.name_queue is
    'Memories whose names are still to be found. Written in the transaction of the memory, claimed with SKIP LOCKED.';
comment on column loci_data.name_queue.namespace_id is 'The namespace.';
comment on column loci_data.name_queue.memory_id is 'The memory.';
comment on column loci_data.name_queue.enqueued_at is 'Since when it waits.';
comment on table loci_data.edge_types is
    'Settings of an edge type in a namespace; a type without a row has the defaults.';
comment on column loci_data.edge_types.namespace_id is 'The namespace.';
comment on column loci_data.edge_types.type is 'The predicate.';
comment on column loci_data.edge_types.decay_rate is 'Per day; null: the namespace''s decay_rate.';
comment on column loci_data.edge_types.single_valued is
    'Whether a source has at most one target of this type at a time.';
comment on column loci_data.edge_types.description is 'What the type means.';
comment on column loci_data.edge_types.updated_at is 'When the row last changed.';
