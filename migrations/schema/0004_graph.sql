-- The knowledge graph: entities and their names, typed edges with their evidence, and what hangs under an entity.

create table loci_data.entities (
    namespace_id       integer not null references loci_data.namespaces on delete cascade,
    id                 uuid not null,
    name               text not null,
    canonical_name     text not null,
    type               text not null default 'unknown',
    aliases            text[] not null default '{}',
    description        text,
    confidence         double precision not null default 0.5,
    mentions           integer not null default 0,
    observations       integer not null default 1,
    pinned             boolean not null default false,
    pinned_at          timestamptz,
    metadata           jsonb not null default '{}',
    first_seen_at      timestamptz not null,
    created_at         timestamptz not null,
    updated_at         timestamptz not null,
    last_referenced_at timestamptz,
    primary key (namespace_id, id),
    constraint entities_canonical_name_key unique (namespace_id, canonical_name),
    constraint entities_name_check check (length(name) between 1 and 255 and canonical_name <> ''),
    constraint entities_type_check check (type ~ '^[a-z0-9][a-z0-9_-]{0,63}$'),
    constraint entities_aliases_check check (cardinality(aliases) <= 100 and array_position(aliases, null) is null),
    constraint entities_confidence_check check (confidence between 0 and 1),
    constraint entities_mentions_check check (mentions >= 0),
    constraint entities_pinned_check check (pinned = (pinned_at is not null)),
    constraint entities_metadata_check check (jsonb_typeof(metadata) = 'object'),
    constraint entities_first_seen_check check (first_seen_at <= created_at)
);

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
    believed_at    timestamptz not null,
    believed_to    timestamptz not null,
    primary key (namespace_id, entity_id, believed_to),
    constraint entity_beliefs_entity_fkey foreign key (namespace_id, entity_id)
        references loci_data.entities (namespace_id, id) on delete cascade,
    constraint entity_beliefs_believed_check check (believed_to > believed_at)
);
create index entity_beliefs_name on loci_data.entity_beliefs (namespace_id, canonical_name);

create table loci_data.entity_names (
    namespace_id   integer not null,
    canonical_name text not null,
    entity_id      uuid not null,
    is_alias       boolean not null,
    tokens         smallint not null,
    primary key (namespace_id, canonical_name, entity_id),
    constraint entity_names_entity_fkey foreign key (namespace_id, entity_id)
        references loci_data.entities (namespace_id, id) on delete cascade
);
create index entity_names_entity on loci_data.entity_names (namespace_id, entity_id);
create index entity_names_tokens on loci_data.entity_names (namespace_id, tokens);

create table loci_data.memory_mentions (
    namespace_id integer not null,
    memory_id    uuid not null,
    entity_id    uuid not null,
    mention_text text not null,
    confidence   double precision not null default 1.0,
    created_at   timestamptz not null default now(),
    primary key (namespace_id, memory_id, entity_id),
    constraint memory_mentions_memory_fkey foreign key (namespace_id, memory_id)
        references loci_data.memories (namespace_id, id) on delete cascade,
    constraint memory_mentions_entity_fkey foreign key (namespace_id, entity_id)
        references loci_data.entities (namespace_id, id) on delete cascade,
    constraint memory_mentions_confidence_check check (confidence between 0 and 1)
);
create index memory_mentions_entity on loci_data.memory_mentions (namespace_id, entity_id, memory_id);

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

create table loci_data.aspects (
    namespace_id   integer not null,
    id             uuid not null,
    entity_id      uuid not null,
    name           text not null,
    canonical_name text not null,
    weight         double precision not null default 0.5,
    single_valued  boolean not null default false,
    confirmed_at   timestamptz,
    created_at     timestamptz not null default now(),
    updated_at     timestamptz not null default now(),
    primary key (namespace_id, id),
    constraint aspects_canonical_name_key unique (namespace_id, entity_id, canonical_name),
    constraint aspects_entity_fkey foreign key (namespace_id, entity_id)
        references loci_data.entities (namespace_id, id) on delete cascade,
    constraint aspects_weight_check check (weight between 0 and 1)
);

create table loci_data.attributes (
    namespace_id  integer not null,
    id            uuid not null,
    aspect_id     uuid not null,
    kind          text not null default 'attribute',
    content       text not null,
    status        text not null default 'active',
    superseded_by uuid,
    memory_id     uuid,
    confidence    double precision not null default 0.0,
    importance    double precision not null default 0.5,
    valid_from    timestamptz not null default now(),
    valid_to      timestamptz,
    recorded_at   timestamptz not null default now(),
    superseded_at timestamptz,
    updated_at    timestamptz not null default now(),
    primary key (namespace_id, id),
    constraint attributes_aspect_fkey foreign key (namespace_id, aspect_id)
        references loci_data.aspects (namespace_id, id) on delete cascade,
    constraint attributes_memory_fkey foreign key (namespace_id, memory_id)
        references loci_data.memories (namespace_id, id) on delete set null (memory_id),
    constraint attributes_superseded_by_fkey foreign key (namespace_id, superseded_by)
        references loci_data.attributes (namespace_id, id) on delete set null (superseded_by) deferrable,
    constraint attributes_kind_check check (kind in ('attribute', 'constraint')),
    constraint attributes_status_check check (status in ('active', 'superseded', 'deleted')),
    constraint attributes_confidence_check check (confidence between 0 and 1),
    constraint attributes_importance_check check (importance between 0 and 1),
    constraint attributes_content_check check (length(content) between 1 and 10000),
    constraint attributes_valid_check check (valid_to >= valid_from)
);
create index attributes_aspect on loci_data.attributes (namespace_id, aspect_id, importance desc) where status = 'active';
create index attributes_history on loci_data.attributes (namespace_id, aspect_id, recorded_at, id);
create index attributes_superseded_by on loci_data.attributes (namespace_id, superseded_by) where superseded_by is not null;
create index attributes_memory on loci_data.attributes (namespace_id, memory_id) where memory_id is not null;

create table loci_data.attribute_beliefs (
    namespace_id  integer not null,
    attribute_id  uuid not null,
    status        text not null,
    superseded_by uuid,
    confidence    double precision not null,
    importance    double precision not null,
    valid_from    timestamptz not null,
    valid_to      timestamptz,
    believed_at   timestamptz not null,
    believed_to   timestamptz not null,
    primary key (namespace_id, attribute_id, believed_to),
    constraint attribute_beliefs_attribute_fkey foreign key (namespace_id, attribute_id)
        references loci_data.attributes (namespace_id, id) on delete cascade,
    constraint attribute_beliefs_believed_check check (believed_to > believed_at)
);

create table loci_data.edges (
    namespace_id       integer not null,
    id                 uuid not null,
    source_id          uuid not null,
    type               text not null,
    target_id          uuid,
    literal            text,
    confidence         double precision not null,
    initial_confidence double precision not null,
    strength           double precision not null default 0.5,
    aspect_id          uuid,
    observations       integer not null default 1,
    first_observed_at  timestamptz not null,
    last_observed_at   timestamptz not null,
    fades_at           timestamptz not null,
    valid_from         timestamptz not null,
    valid_to           timestamptz,
    recorded_at        timestamptz not null,
    superseded_at      timestamptz,
    metadata           jsonb not null default '{}',
    updated_at         timestamptz not null,
    primary key (namespace_id, id),
    constraint edges_source_fkey foreign key (namespace_id, source_id)
        references loci_data.entities (namespace_id, id) on delete cascade,
    constraint edges_target_fkey foreign key (namespace_id, target_id)
        references loci_data.entities (namespace_id, id) on delete cascade,
    constraint edges_aspect_fkey foreign key (namespace_id, aspect_id)
        references loci_data.aspects (namespace_id, id) on delete set null (aspect_id),
    constraint edges_target_check check (num_nonnulls(target_id, literal) = 1),
    constraint edges_type_check check (length(type) between 1 and 128),
    constraint edges_literal_check check (length(literal) between 1 and 1000),
    constraint edges_confidence_check check (confidence between 0 and 1 and initial_confidence between 0 and 1),
    constraint edges_strength_check check (strength between 0 and 1),
    constraint edges_observed_check check (last_observed_at >= first_observed_at),
    constraint edges_valid_check check (valid_to >= valid_from),
    constraint edges_metadata_check check (jsonb_typeof(metadata) = 'object')
);
create unique index edges_triple on loci_data.edges (namespace_id, source_id, type, target_id)
    where target_id is not null and superseded_at is null;
create unique index edges_literal on loci_data.edges (namespace_id, source_id, type, md5(literal))
    where literal is not null and superseded_at is null;
create index edges_source on loci_data.edges (namespace_id, source_id, id);
create index edges_target on loci_data.edges (namespace_id, target_id, id) where target_id is not null;
create index edges_type on loci_data.edges (namespace_id, type, id);

create table loci_data.edge_beliefs (
    namespace_id integer not null,
    edge_id      uuid not null,
    valid_from   timestamptz not null,
    valid_to     timestamptz,
    believed_at  timestamptz not null,
    believed_to  timestamptz not null,
    primary key (namespace_id, edge_id, believed_to),
    constraint edge_beliefs_edge_fkey foreign key (namespace_id, edge_id)
        references loci_data.edges (namespace_id, id) on delete cascade,
    constraint edge_beliefs_believed_check check (believed_to > believed_at)
);

create table loci_data.edge_observations (
    namespace_id integer not null,
    id           uuid not null,
    edge_id      uuid not null,
    memory_id    uuid,
    session_id   text,
    observed_at  timestamptz not null,
    confidence   double precision not null,
    restored     boolean not null,
    recorded_at  timestamptz not null,
    primary key (namespace_id, id),
    constraint edge_observations_edge_fkey foreign key (namespace_id, edge_id)
        references loci_data.edges (namespace_id, id) on delete cascade,
    constraint edge_observations_memory_fkey foreign key (namespace_id, memory_id)
        references loci_data.memories (namespace_id, id) on delete set null (memory_id),
    constraint edge_observations_confidence_check check (confidence between 0 and 1)
);
create index edge_observations_edge on loci_data.edge_observations (namespace_id, edge_id, observed_at);
create unique index edge_observations_memory on loci_data.edge_observations (namespace_id, memory_id, edge_id) where memory_id is not null;

comment on table loci_data.entities is 'Named things: people, projects, tools, topics, … (seeds A, C, D). One row a canonical name.';
comment on column loci_data.entities.namespace_id is 'The namespace.';
comment on column loci_data.entities.id is 'Identifier.';
comment on column loci_data.entities.name is 'Name as first written.';
comment on column loci_data.entities.canonical_name is 'Lower-cased, white space folded: loci.canonical_name(name).';
comment on column loci_data.entities.type is 'person, project, topic, tool, …; unknown and extracted give way to any other.';
comment on column loci_data.entities.aliases is 'Other names; looked up like the name.';
comment on column loci_data.entities.description is 'Free text.';
comment on column loci_data.entities.confidence is '0 to 1; each further observation takes a fifth off the distance to 1.';
comment on column loci_data.entities.mentions is 'Number of memories that mention it; a present figure, at whatever moment it is asked for.';
comment on column loci_data.entities.observations is 'How often it was written or extracted; a present figure, like confidence.';
comment on column loci_data.entities.pinned is 'Pinned entities are always focal and never removed by a sweep.';
comment on column loci_data.entities.pinned_at is 'When it was pinned.';
comment on column loci_data.entities.metadata is 'Any JSON object.';
comment on column loci_data.entities.first_seen_at is 'Valid time: the earliest moment that anything said about it dates from; a back-dated memory or edge lowers it.';
comment on column loci_data.entities.created_at is 'Recorded time: when it was first written.';
comment on column loci_data.entities.updated_at is 'When any column last changed.';
comment on column loci_data.entities.last_referenced_at is 'When a text last matched it, by touch (row G6).';
comment on table loci_data.entity_beliefs is 'What was believed of an entity before: kept by a trigger whenever what it says of itself changes (not counters), so that known_at can be answered.';
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
comment on column loci_data.entity_beliefs.believed_at is 'Since when this was believed.';
comment on column loci_data.entity_beliefs.believed_to is 'Until when (exclusive).';
comment on table loci_data.entity_names is 'Every name and alias of every entity, kept by a trigger: one indexed look-up finds an entity by any of them.';
comment on column loci_data.entity_names.namespace_id is 'The namespace.';
comment on column loci_data.entity_names.canonical_name is 'Canonical form of the name or alias.';
comment on column loci_data.entity_names.entity_id is 'The entity.';
comment on column loci_data.entity_names.is_alias is 'False for the name itself, which wins over an alias.';
comment on column loci_data.entity_names.tokens is 'Number of words and punctuation marks in it: bounds the phrases that a text is searched for.';
comment on table loci_data.memory_mentions is 'Which memory mentions which entity (seed D).';
comment on column loci_data.memory_mentions.namespace_id is 'The namespace.';
comment on column loci_data.memory_mentions.memory_id is 'The memory.';
comment on column loci_data.memory_mentions.entity_id is 'The entity.';
comment on column loci_data.memory_mentions.mention_text is 'The name as it stood in the write.';
comment on column loci_data.memory_mentions.confidence is '0 to 1.';
comment on column loci_data.memory_mentions.created_at is 'When the mention was recorded.';
comment on table loci_data.name_candidates is 'Proper-noun phrases seen in one memory so far (row R9). The second memory makes an entity of type extracted of them.';
comment on column loci_data.name_candidates.namespace_id is 'The namespace.';
comment on column loci_data.name_candidates.canonical_name is 'Canonical form of the phrase.';
comment on column loci_data.name_candidates.memory_id is 'The memory that has it.';
comment on column loci_data.name_candidates.name is 'The phrase as it stands in the memory.';
comment on table loci_data.name_queue is 'Memories whose names are still to be found. Written in the transaction of the memory, claimed with SKIP LOCKED.';
comment on column loci_data.name_queue.namespace_id is 'The namespace.';
comment on column loci_data.name_queue.memory_id is 'The memory.';
comment on column loci_data.name_queue.enqueued_at is 'Since when it waits.';
comment on table loci_data.edge_types is 'Settings of an edge type in a namespace; a type without a row has the defaults.';
comment on column loci_data.edge_types.namespace_id is 'The namespace.';
comment on column loci_data.edge_types.type is 'The predicate.';
comment on column loci_data.edge_types.decay_rate is 'Per day; null: the namespace''s decay_rate.';
comment on column loci_data.edge_types.single_valued is 'Whether a source has at most one target of this type at a time.';
comment on column loci_data.edge_types.description is 'What the type means.';
comment on column loci_data.edge_types.updated_at is 'When the row last changed.';
comment on table loci_data.aspects is 'Named dimensions of an entity (seed D).';
comment on column loci_data.aspects.namespace_id is 'The namespace.';
comment on column loci_data.aspects.id is 'Identifier.';
comment on column loci_data.aspects.entity_id is 'The entity.';
comment on column loci_data.aspects.name is 'Name as written.';
comment on column loci_data.aspects.canonical_name is 'Lower-cased, white space folded; unique per entity.';
comment on column loci_data.aspects.weight is 'Learned salience, 0 to 1.';
comment on column loci_data.aspects.single_valued is 'Whether its attributes replace each other.';
comment on column loci_data.aspects.confirmed_at is 'When use last confirmed it.';
comment on column loci_data.aspects.created_at is 'When it was made.';
comment on column loci_data.aspects.updated_at is 'When any column last changed.';
comment on table loci_data.attributes is 'Atomic facts and non-negotiable constraints under an aspect (seed D).';
comment on column loci_data.attributes.namespace_id is 'The namespace.';
comment on column loci_data.attributes.id is 'Identifier.';
comment on column loci_data.attributes.aspect_id is 'The aspect.';
comment on column loci_data.attributes.kind is 'attribute, or constraint: always surfaced, never superseded automatically.';
comment on column loci_data.attributes.content is 'The fact or rule.';
comment on column loci_data.attributes.status is 'active, superseded or deleted.';
comment on column loci_data.attributes.superseded_by is 'The attribute that replaced it.';
comment on column loci_data.attributes.memory_id is 'The memory it rests on.';
comment on column loci_data.attributes.confidence is '0 to 1.';
comment on column loci_data.attributes.importance is '0 to 1.';
comment on column loci_data.attributes.valid_from is 'Valid time: from when.';
comment on column loci_data.attributes.valid_to is 'Valid time: until when; null: still.';
comment on column loci_data.attributes.recorded_at is 'Recorded time: when written.';
comment on column loci_data.attributes.superseded_at is 'Recorded time: when replaced or deleted.';
comment on column loci_data.attributes.updated_at is 'When any column last changed.';
comment on table loci_data.attribute_beliefs is 'What was believed of an attribute before: kept by a trigger whenever status, validity, importance or confidence changes, so that known_at can be answered.';
comment on column loci_data.attribute_beliefs.namespace_id is 'The namespace.';
comment on column loci_data.attribute_beliefs.attribute_id is 'The attribute.';
comment on column loci_data.attribute_beliefs.status is 'The status then.';
comment on column loci_data.attribute_beliefs.superseded_by is 'What had replaced it then.';
comment on column loci_data.attribute_beliefs.confidence is 'The confidence then.';
comment on column loci_data.attribute_beliefs.importance is 'The importance then.';
comment on column loci_data.attribute_beliefs.valid_from is 'The valid_from believed then.';
comment on column loci_data.attribute_beliefs.valid_to is 'The valid_to believed then; null: open.';
comment on column loci_data.attribute_beliefs.believed_at is 'Since when this was believed.';
comment on column loci_data.attribute_beliefs.believed_to is 'Until when (exclusive).';
comment on table loci_data.edges is 'Directed, typed relations: source entity, type, target entity or literal; unique among those believed now (seeds A, C, D).';
comment on column loci_data.edges.namespace_id is 'The namespace.';
comment on column loci_data.edges.id is 'Identifier (UUID version 7): its order is the order of discovery in traversals.';
comment on column loci_data.edges.source_id is 'The entity it starts from.';
comment on column loci_data.edges.type is 'The predicate, such as works_on.';
comment on column loci_data.edges.target_id is 'The entity it points to; null when the target is a literal.';
comment on column loci_data.edges.literal is 'A literal target; null when the target is an entity.';
comment on column loci_data.edges.confidence is 'Confidence at last_observed_at, 0 to 1; what it is worth at a moment is loci.effective_confidence(...).';
comment on column loci_data.edges.initial_confidence is 'Confidence at the first observation.';
comment on column loci_data.edges.strength is '0 to 1; a present figure, like metadata, at whatever moment it is asked for.';
comment on column loci_data.edges.aspect_id is 'The aspect of the source that motivated it, if known.';
comment on column loci_data.edges.observations is 'Number of observations; each is a row of edge_observations.';
comment on column loci_data.edges.first_observed_at is 'When it was first observed.';
comment on column loci_data.edges.last_observed_at is 'When confidence was last set or restored: decay counts from here.';
comment on column loci_data.edges.fades_at is 'When the effective confidence falls below the threshold: last_observed_at + ln(confidence / threshold) / rate days (forward decay: Cormode et al., ICDE 2009).';
comment on column loci_data.edges.valid_from is 'Valid time: from when it is true.';
comment on column loci_data.edges.valid_to is 'Valid time: until when; null: still.';
comment on column loci_data.edges.recorded_at is 'Recorded time: when first written.';
comment on column loci_data.edges.superseded_at is 'Recorded time: when it was taken back; null: believed.';
comment on column loci_data.edges.metadata is 'Any JSON object.';
comment on column loci_data.edges.updated_at is 'When any column last changed, in recorded time and never going back: at any known_at from then on the row itself is the answer.';
comment on table loci_data.edge_beliefs is 'What was believed of an edge''s validity before: kept by a trigger whenever valid_from or valid_to changes, so that known_at can be answered.';
comment on column loci_data.edge_beliefs.namespace_id is 'The namespace.';
comment on column loci_data.edge_beliefs.edge_id is 'The edge.';
comment on column loci_data.edge_beliefs.valid_from is 'The valid_from believed then.';
comment on column loci_data.edge_beliefs.valid_to is 'The valid_to believed then; null: open.';
comment on column loci_data.edge_beliefs.believed_at is 'Since when this was believed.';
comment on column loci_data.edge_beliefs.believed_to is 'Until when (exclusive).';
comment on table loci_data.edge_observations is 'Evidence: each observation of an edge.';
comment on column loci_data.edge_observations.namespace_id is 'The namespace.';
comment on column loci_data.edge_observations.id is 'Identifier.';
comment on column loci_data.edge_observations.edge_id is 'The edge.';
comment on column loci_data.edge_observations.memory_id is 'The memory that showed it, if any.';
comment on column loci_data.edge_observations.session_id is 'The conversation that showed it, if any.';
comment on column loci_data.edge_observations.observed_at is 'When it was observed.';
comment on column loci_data.edge_observations.confidence is 'The edge''s confidence after this observation.';
comment on column loci_data.edge_observations.restored is 'Whether it restored confidence (a new conversation) or only counted (the same one).';
comment on column loci_data.edge_observations.recorded_at is 'When it was written.';
