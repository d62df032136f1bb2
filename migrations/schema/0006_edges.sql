-- Typed edges with the spells in which they hold, what was believed of these, their evidence, and changes of their
-- decay.

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
    restored_at        timestamptz not null,
    fades_at           timestamptz not null,
    valid_from         timestamptz not null,
    valid_to           timestamptz,
    spells             tstzmultirange,
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
    constraint edges_observed_check check (restored_at between first_observed_at and last_observed_at),
    constraint edges_valid_check check (valid_to >= valid_from),
    constraint edges_spells_check check (
        range_merge(spells) = tstzrange(valid_from, valid_to) and spells <> tstzmultirange(range_merge(spells))),
    constraint edges_metadata_check
        check (jsonb_typeof(metadata) = 'object' and octet_length(metadata::text) <= 1048576)
);
create unique index edges_triple on loci_data.edges (namespace_id, source_id, type, target_id)
    where target_id is not null and superseded_at is null;
create unique index edges_literal on loci_data.edges (namespace_id, source_id, type, md5(literal))
    where literal is not null and superseded_at is null;
-- those that hold at no moment
create index edges_empty on loci_data.edges (namespace_id, id) where valid_to = valid_from and superseded_at is null;
create index edges_source on loci_data.edges (namespace_id, source_id, id);
create index edges_strength on loci_data.edges (namespace_id, source_id, strength, id) where target_id is not null;
create index edges_target on loci_data.edges (namespace_id, target_id, id) where target_id is not null;
create index edges_type on loci_data.edges (namespace_id, type, id);

create table loci_data.edge_beliefs (
    namespace_id integer not null,
    edge_id      uuid not null,
    valid_from   timestamptz not null,
    valid_to     timestamptz,
    spells       tstzmultirange,
    believed_at  timestamptz not null,
    believed_to  timestamptz not null,
    primary key (namespace_id, edge_id, believed_to),
    constraint edge_beliefs_edge_fkey foreign key (namespace_id, edge_id)
        references loci_data.edges (namespace_id, id) on delete cascade,
    constraint edge_beliefs_believed_check check (believed_to > believed_at)
);

create table loci_data.edge_observations (
    namespace_id  integer not null,
    id            uuid not null,
    edge_id       uuid not null,
    memory_id     uuid,
    session_id    text,
    observed_at   timestamptz not null,
    valid_from    timestamptz,
    valid_to      timestamptz,
    confidence    double precision not null,
    reinforcement text not null,
    recorded_at   timestamptz not null,
    origin_id     uuid,
    operation_id  uuid default nullif(current_setting('loci.operation', true), '')::uuid,
    carried_by    uuid[],
    withdrawn     tstzmultirange,
    primary key (namespace_id, id),
    constraint edge_observations_edge_fkey foreign key (namespace_id, edge_id)
        references loci_data.edges (namespace_id, id) on delete cascade,
    constraint edge_observations_memory_fkey foreign key (namespace_id, memory_id)
        references loci_data.memories (namespace_id, id) on delete set null (memory_id),
    constraint edge_observations_confidence_check check (confidence between 0 and 1),
    constraint edge_observations_valid_check check (valid_to >= valid_from),
    constraint edge_observations_reinforcement_check check (reinforcement in ('full', 'initial', 'running_average')),
    constraint edge_observations_withdrawn_check check (not isempty(withdrawn))
);
create index edge_observations_edge on loci_data.edge_observations (namespace_id, edge_id, observed_at);
create index edge_observations_observed on loci_data.edge_observations (namespace_id, observed_at);
create unique index edge_observations_memory on loci_data.edge_observations (namespace_id, memory_id, edge_id)
where memory_id is not null;
create index edge_observations_carried on loci_data.edge_observations using gin (carried_by)
where carried_by is not null;
create index edge_observations_operation on loci_data.edge_observations (namespace_id, operation_id, edge_id)
where operation_id is not null;

-- Changes of rates of decay, and how far they have got with edges.fades_at. While one is unfinished, readers reckon for
-- themselves.
create table loci_data.decay_changes (
    namespace_id  integer not null references loci_data.namespaces on delete cascade,
    type          text not null,
    since_version integer,
    started_at    timestamptz not null,
    after_id      uuid,
    edges         bigint not null default 0,
    faded         bigint not null default 0,
    revived       bigint not null default 0,
    worked_at     timestamptz not null,
    finished_at   timestamptz,
    primary key (namespace_id, type)
);

-- An observation of an edge, typed and checked. source and target are as written until source_id and target_id are
-- known; id is the observation's, and a new edge has that of its first.
create type loci_internal.edge_input as (
    ordinal     integer,
    source      text,
    source_type text,
    type        text,
    target      text,
    target_type text,
    literal     text,
    aspect      text,
    confidence  double precision,
    strength    double precision,
    session_id  text,
    memory_id   uuid,
    observed_at timestamptz,
    valid_from  timestamptz,
    valid_to    timestamptz,
    metadata    jsonb,
    seen_at     timestamptz,
    source_id   uuid,
    target_id   uuid,
    aspect_id   uuid,
    id          uuid
);
-- An observation of an entity: by a memory, in a conversation, or by hand.
create type loci_internal.sighting as (
    entity_id  uuid,
    memory_id  uuid,
    session_id text,
    confidence double precision,
    seen_at    timestamptz,
    mention    text
);
comment on type loci_internal.edge_input is 'An observation of an edge.';
comment on type loci_internal.sighting is 'An observation of an entity.';

comment on table loci_data.decay_changes is
    'Changes of decay by edge type, with how far they have got in moving edges.fades_at; an unfinished one tells '
    'readers to reckon for themselves.';
comment on column loci_data.decay_changes.namespace_id is 'The namespace.';
comment on column loci_data.decay_changes.type is 'The edge type; empty: all of them.';
comment on column loci_data.decay_changes.since_version is
    'Oldest namespaces.rates_version whose writers have to be waited for first; null: they are gone.';
comment on column loci_data.decay_changes.started_at is
    'When the change was made: edges count as faded or come back at this moment.';
comment on column loci_data.decay_changes.after_id is 'The last edge that was looked at; null: none yet.';
comment on column loci_data.decay_changes.edges is 'Edges looked at so far.';
comment on column loci_data.decay_changes.faded is 'Edges that faded by it so far.';
comment on column loci_data.decay_changes.revived is 'Edges that came back by it so far.';
comment on column loci_data.decay_changes.worked_at is 'When a batch last ended: the worker takes over from who died.';
comment on column loci_data.decay_changes.finished_at is 'When all edges were done; null: not yet.';

comment on table loci_data.edges is
    'Directed, typed relations: source entity, type, target entity or literal; unique among those believed now (seeds '
    'A, C, D).';
comment on column loci_data.edges.namespace_id is 'The namespace.';
comment on column loci_data.edges.id is
    'Identifier (UUID version 7): its order is the order of discovery in traversals.';
comment on column loci_data.edges.source_id is 'The entity it starts from.';
comment on column loci_data.edges.type is 'The predicate, such as works_on.';
comment on column loci_data.edges.target_id is 'The entity it points to; null when the target is a literal.';
comment on column loci_data.edges.literal is 'A literal target; null when the target is an entity.';
comment on column loci_data.edges.confidence is
    'Confidence at restored_at, 0 to 1; what it is worth at a moment is loci.effective_confidence(...).';
comment on column loci_data.edges.initial_confidence is 'Confidence that its first observation states.';
comment on column loci_data.edges.strength is
    '0 to 1; a present figure, like metadata, at whatever moment it is asked for.';
comment on column loci_data.edges.aspect_id is
    'The aspect of the source that motivated it, if known; a present figure, like strength.';
comment on column loci_data.edges.observations is 'Number of observations; each is a row of edge_observations.';
comment on column loci_data.edges.first_observed_at is 'When it was first observed.';
comment on column loci_data.edges.last_observed_at is
    'When it was last observed. At any as_of from then on the figures of the row itself are the answer.';
comment on column loci_data.edges.restored_at is
    'When confidence was last set or restored: the last observation in a new conversation. Decay counts from here.';
comment on column loci_data.edges.fades_at is
    'When the effective confidence falls below the threshold: restored_at + ln(confidence / threshold) / rate days '
    '(forward decay: Cormode et al., ICDE 2009). Not to be trusted while an unfinished row of decay_changes stands.';
comment on column loci_data.edges.valid_from is 'Valid time: when its first spell begins.';
comment on column loci_data.edges.valid_to is
    'Valid time: when its last spell ends; null: it has not. At valid_from: it never held.';
comment on column loci_data.edges.spells is
    'Valid time: its spells, where there are several; null: one, from valid_from to valid_to.';
comment on column loci_data.edges.recorded_at is 'Recorded time: when first written.';
comment on column loci_data.edges.superseded_at is 'Recorded time: when it was taken back; null: believed.';
comment on column loci_data.edges.metadata is 'Any JSON object.';
comment on column loci_data.edges.updated_at is
    'When any column but fades_at last changed, in recorded time and never going back: at any known_at from then on '
    'the row itself is the answer.';
comment on table loci_data.edge_beliefs is
    'What was believed of an edge''s spells before: kept by a trigger whenever they change, so that known_at can be '
    'answered.';
comment on column loci_data.edge_beliefs.namespace_id is 'The namespace.';
comment on column loci_data.edge_beliefs.edge_id is 'The edge.';
comment on column loci_data.edge_beliefs.valid_from is 'The valid_from believed then.';
comment on column loci_data.edge_beliefs.valid_to is 'The valid_to believed then; null: open.';
comment on column loci_data.edge_beliefs.spells is 'The spells believed then; null: one, from valid_from to valid_to.';
comment on column loci_data.edge_beliefs.believed_at is 'Since when this was believed.';
comment on column loci_data.edge_beliefs.believed_to is 'Until when (exclusive).';
comment on table loci_data.edge_observations is
    'Evidence: that somebody said so, at a moment. All that an edge says of confidence and validity follows from these '
    'rows, in the order of observed_at, recorded_at and origin.';
comment on column loci_data.edge_observations.namespace_id is 'The namespace.';
comment on column loci_data.edge_observations.id is 'Identifier.';
comment on column loci_data.edge_observations.edge_id is 'The edge.';
comment on column loci_data.edge_observations.memory_id is 'The memory that showed it, if any.';
comment on column loci_data.edge_observations.session_id is 'The conversation that showed it, if any.';
comment on column loci_data.edge_observations.observed_at is 'When it was said; it may speak of other times.';
comment on column loci_data.edge_observations.valid_from is 'From when the edge holds, as stated; null: not stated.';
comment on column loci_data.edge_observations.valid_to is 'Until when the edge holds, as stated; null: not stated.';
comment on column loci_data.edge_observations.confidence is 'The confidence that it states.';
comment on column loci_data.edge_observations.reinforcement is
    'The setting reinforcement of the namespace when it was recorded: what it does to confidence if it comes in a new '
    'conversation.';
comment on column loci_data.edge_observations.recorded_at is 'When it was written.';
comment on column loci_data.edge_observations.origin_id is
    'The observation that it is a copy of, made when the edge was recorded anew (edge_moves); null: it is none.';
comment on column loci_data.edge_observations.operation_id is
    'The operation that observed; copies have that of the original. Undoing an operation takes its evidence back.';
comment on column loci_data.edge_observations.carried_by is
    'Memories that say what its memory said, since they were made of it: it counts while one of all these is active.';
comment on column loci_data.edge_observations.withdrawn is
    'Recorded time: when it did not count, because its memory was forgotten; null: it has counted ever since.';
