-- What hangs under an entity: aspects, and their facts and constraints.

create table loci_data.aspects (
    namespace_id   integer not null,
    id             uuid not null,
    entity_id      uuid not null,
    name           text not null,
    canonical_name text not null,
    weight         double precision not null default 0.5,
    single_valued  boolean,
    confirmed_at   timestamptz,
    created_at     timestamptz not null default now(),
    updated_at     timestamptz not null default now(),
    primary key (namespace_id, id),
    constraint aspects_canonical_name_key unique (namespace_id, entity_id, canonical_name),
    constraint aspects_entity_key unique (namespace_id, id, entity_id),
    constraint aspects_entity_fkey foreign key (namespace_id, entity_id)
        references loci_data.entities (namespace_id, id) on delete cascade,
    constraint aspects_weight_check check (weight between 0 and 1)
);
create index aspects_weight on loci_data.aspects (namespace_id, entity_id, weight, id);

create table loci_data.attributes (
    namespace_id  integer not null,
    id            uuid not null,
    aspect_id     uuid not null,
    entity_id     uuid not null,
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
    withdrawn_at  timestamptz,
    updated_at    timestamptz not null default now(),
    primary key (namespace_id, id),
    constraint attributes_aspect_fkey foreign key (namespace_id, aspect_id, entity_id)
        references loci_data.aspects (namespace_id, id, entity_id) on update cascade on delete cascade,
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
create index attributes_aspect on loci_data.attributes (namespace_id, aspect_id, importance desc)
where status = 'active';
create index attributes_importance on loci_data.attributes (namespace_id, aspect_id, importance, id)
where kind = 'attribute';
create index attributes_constraints on loci_data.attributes (namespace_id, entity_id, importance, id)
where kind = 'constraint';
create index attributes_history on loci_data.attributes (namespace_id, aspect_id, recorded_at, id);
create index attributes_superseded_by on loci_data.attributes (namespace_id, superseded_by)
where superseded_by is not null;
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

comment on table loci_data.aspects is 'Named dimensions of an entity.';
comment on column loci_data.aspects.namespace_id is 'The namespace.';
comment on column loci_data.aspects.id is 'Identifier.';
comment on column loci_data.aspects.entity_id is 'The entity.';
comment on column loci_data.aspects.name is 'Name as written.';
comment on column loci_data.aspects.canonical_name is 'Lower-cased, white space folded; unique per entity.';
comment on column loci_data.aspects.weight is 'Learned salience, 0 to 1.';
comment on column loci_data.aspects.single_valued is
    'Whether its attributes replace each other: true or false as declared; null: their words decide.';
comment on column loci_data.aspects.confirmed_at is 'When use last confirmed it.';
comment on column loci_data.aspects.created_at is 'When it was made.';
comment on column loci_data.aspects.updated_at is 'When any column last changed.';
comment on table loci_data.attributes is 'Atomic facts and non-negotiable constraints under an aspect.';
comment on column loci_data.attributes.namespace_id is 'The namespace.';
comment on column loci_data.attributes.id is 'Identifier.';
comment on column loci_data.attributes.aspect_id is 'The aspect.';
comment on column loci_data.attributes.entity_id is
    'The entity of the aspect, kept by a trigger and the foreign key: the constraints of an entity are one range of '
    'an index.';
comment on column loci_data.attributes.kind is
    'attribute, or constraint: always surfaced, never superseded automatically.';
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
comment on column loci_data.attributes.withdrawn_at is
    'Since when it is superseded because the memory it rests on is; null: it is not for that reason.';
comment on column loci_data.attributes.updated_at is 'When any column last changed.';
comment on table loci_data.attribute_beliefs is
    'What was believed of an attribute before: kept by a trigger whenever status, validity, importance or confidence '
    'changes, so that known_at can be answered.';
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
