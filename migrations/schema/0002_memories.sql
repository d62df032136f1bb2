-- Memories: versions in lineages, two times, hierarchy, links.

create table loci_data.lineages (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    lineage      text not null,
    id           uuid not null,
    versions     integer not null,
    written_at   timestamptz not null default '-infinity',
    primary key (namespace_id, lineage),
    constraint lineages_versions_check check (versions >= 0)
);

-- What is said about a memory, beside its content and its time, and may change without a new version. These are the
-- last columns of
-- memories, in this order, and the last fields of memory_record.
create type loci.memory_details as (
    category   text collate "C",
    tags       text[],
    layer      smallint,
    importance double precision,
    confidence double precision,
    metadata   jsonb
);

create table loci_data.memories (
    namespace_id     integer not null references loci_data.namespaces on delete cascade,
    id               uuid not null,
    doc_id           bigint generated always as identity,
    lineage          text not null,
    lineage_id       uuid not null,
    version          integer not null default 1,
    content          text not null,
    content_hash     bytea not null,
    fold_scope       text,
    valid_from       timestamptz not null,
    valid_to         timestamptz,
    recorded_at      timestamptz not null,
    believed_at      timestamptz not null,
    superseded_at    timestamptz,
    status           text not null default 'active',
    source           text,
    session_id       text,
    observations     integer not null default 1,
    last_observed_at timestamptz not null,
    created_by       uuid,
    updated_at       timestamptz not null,
    category         text not null default 'general',
    tags             text[] not null default '{}',
    layer            smallint not null default 2,
    importance       double precision not null default 0.5,
    confidence       double precision not null default 1.0,
    metadata         jsonb not null default '{}',
    primary key (namespace_id, id),
    constraint memories_doc_id_key unique (namespace_id, doc_id),
    constraint memories_lineage_version_key unique (namespace_id, lineage, version),
    constraint memories_doc_id_check check (doc_id < 1::bigint << 40),
    constraint memories_content_check check (content <> '' and octet_length(content) <= 1048576),
    constraint memories_content_hash_check check (octet_length(content_hash) = 32),
    constraint memories_lineage_check check (length(lineage) between 1 and 255),
    constraint memories_category_check check (category ~ '^[^/]+(/[^/]+)*$' and length(category) <= 255),
    constraint memories_tags_check check (cardinality(tags) <= 100 and array_position(tags, null) is null),
    constraint memories_layer_check check (layer between 0 and 3),
    constraint memories_valid_check check (valid_to >= valid_from),
    constraint memories_valid_finite_check check (isfinite(valid_from) and isfinite(valid_to)),
    constraint memories_status_check check (status in ('active', 'forgotten')),
    constraint memories_importance_check check (importance between 0 and 1),
    constraint memories_confidence_check check (confidence between 0 and 1),
    constraint memories_metadata_check
        check (jsonb_typeof(metadata) = 'object' and octet_length(metadata::text) <= 1048576)
);
-- One open version a lineage; closing it and opening the next happen in one statement each, in that order.
create unique index memories_open_lineage on loci_data.memories (namespace_id, lineage)
    where valid_to is null and status = 'active';
create unique index memories_fold on loci_data.memories (namespace_id, content_hash, fold_scope)
    where valid_to is null and status = 'active';
create index memories_chain on loci_data.memories (namespace_id, lineage_id, valid_from);
-- Every memory passes the conditions of these three; only a query that states them, or compares the column, can be
-- planned over the index, so no
-- look-up of ids is drawn to it while the table has no statistics.
create index memories_category on loci_data.memories (namespace_id, category collate "C", doc_id)
where category is not null;
create index memories_importance on loci_data.memories (namespace_id, importance, doc_id) where importance >= 0;
create index memories_recorded on loci_data.memories (namespace_id, recorded_at) where recorded_at is not null;
create index memories_session on loci_data.memories (namespace_id, session_id, valid_from, doc_id)
where session_id is not null;

create table loci_data.memory_beliefs (
    namespace_id integer not null,
    memory_id    uuid not null,
    valid_from   timestamptz not null,
    valid_to     timestamptz,
    status       text not null,
    details      loci.memory_details not null,
    believed_at  timestamptz not null,
    believed_to  timestamptz not null,
    primary key (namespace_id, memory_id, believed_at),
    constraint memory_beliefs_memory_fkey foreign key (namespace_id, memory_id)
        references loci_data.memories (namespace_id, id) on delete cascade,
    constraint memory_beliefs_believed_check check (believed_to >= believed_at)
);

-- Where a lineage stands, and when: rows never change but for the end of their belief.
create table loci_data.memory_placements (
    namespace_id  integer not null references loci_data.namespaces on delete cascade,
    node_id       uuid not null,
    parent_id     uuid not null,
    valid_from    timestamptz not null default '-infinity',
    valid_to      timestamptz,
    recorded_at   timestamptz not null,
    superseded_at timestamptz,
    primary key (namespace_id, node_id, recorded_at, valid_from),
    constraint memory_placements_parent_check check (parent_id <> node_id),
    constraint memory_placements_valid_check check (valid_to > valid_from),
    constraint memory_placements_recorded_check check (superseded_at > recorded_at)
);
create index memory_placements_parent on loci_data.memory_placements (namespace_id, parent_id);

-- Every path of placements, for the time that all its steps hold in.
create table loci_data.memory_closure (
    namespace_id  integer not null references loci_data.namespaces on delete cascade,
    ancestor_id   uuid not null,
    descendant_id uuid not null,
    depth         integer not null,
    valid_from    timestamptz not null,
    valid_to      timestamptz,
    recorded_at   timestamptz not null,
    superseded_at timestamptz,
    primary key (namespace_id, ancestor_id, descendant_id, recorded_at, valid_from),
    constraint memory_closure_depth_check check (depth > 0),
    constraint memory_closure_cycle_check check (ancestor_id <> descendant_id),
    constraint memory_closure_valid_check check (valid_to > valid_from),
    constraint memory_closure_recorded_check check (superseded_at > recorded_at)
);
create index memory_closure_descendant on loci_data.memory_closure (namespace_id, descendant_id, depth);
create index memory_closure_depth on loci_data.memory_closure (namespace_id, ancestor_id, depth, descendant_id);

create table loci_data.memory_links (
    namespace_id  integer not null references loci_data.namespaces on delete cascade,
    source_id     uuid not null,
    target_id     uuid not null,
    type          text not null,
    strength      double precision not null default 0.5,
    recorded_at   timestamptz not null,
    superseded_at timestamptz,
    primary key (namespace_id, source_id, target_id, type, recorded_at),
    constraint memory_links_type_check check (length(type) between 1 and 128),
    constraint memory_links_strength_check check (strength between 0 and 1),
    constraint memory_links_self_check check (source_id <> target_id),
    constraint memory_links_recorded_check check (superseded_at > recorded_at)
);
create unique index memory_links_present on loci_data.memory_links (namespace_id, source_id, target_id, type)
where superseded_at is null;
create index memory_links_target on loci_data.memory_links (namespace_id, target_id);

-- What a write states, one item; arrays of it carry a batch through loci_api.remember.
create type loci_internal.memory_input as (
    ordinal      integer,
    round        integer,
    id           uuid,
    content      text,
    content_hash bytea,
    fold_scope   text,
    lineage      text,
    parent_id    uuid,
    valid_from   timestamptz,
    valid_to     timestamptz,
    source       text,
    session_id   text,
    embedding    real[],
    corrects     uuid,
    recorded_at  timestamptz,
    ends         uuid,
    resumes      boolean,
    lengthens    uuid,
    until        timestamptz,
    duplicate    boolean,
    on_duplicate text,
    details      loci.memory_details
);
-- What became of it.
create type loci_internal.memory_outcome as (
    ordinal    integer,
    id         uuid,
    superseded uuid,
    duplicate  boolean,
    ignored    text[],
    cut_short  jsonb
);
-- A memory as every surface shows it.
create type loci.memory_record as (
    id               uuid,
    lineage          text,
    version          integer,
    content          text,
    parent_id        uuid,
    valid_from       timestamptz,
    valid_to         timestamptz,
    recorded_at      timestamptz,
    superseded_at    timestamptz,
    current          boolean,
    status           text,
    source           text,
    session_id       text,
    observations     integer,
    last_observed_at timestamptz,
    updated_at       timestamptz,
    cursor           bigint,
    category         text collate "C",
    tags             text[],
    layer            smallint,
    importance       double precision,
    confidence       double precision,
    metadata         jsonb
);
-- What a recall or a listing is restricted to; a null field restricts nothing.
create type loci_internal.memory_filter as (
    category        text,
    tags            text[],
    tags_all        text[],
    layers          smallint[],
    lineage         text,
    source          text,
    session_id      text,
    metadata        jsonb,
    valid_after     timestamptz,
    valid_before    timestamptz,
    recorded_after  timestamptz,
    recorded_before timestamptz,
    min_importance  double precision,
    min_confidence  double precision,
    under           uuid,
    entity_id       uuid,
    as_of           timestamptz,
    known_at        timestamptz,
    begun_by        timestamptz
);
comment on type loci.memory_details is
    'What is said about a memory beside its content and its time; may change without a new version.';
comment on column loci.memory_details.category is 'Slash-separated path; general when none was given.';
comment on column loci.memory_details.tags is 'Labels.';
comment on column loci.memory_details.layer is '0 domain, 1 concept, 2 fact, 3 episode.';
comment on column loci.memory_details.importance is '0 to 1.';
comment on column loci.memory_details.confidence is '0 to 1.';
comment on column loci.memory_details.metadata is 'Any JSON object.';
do $$
declare
    v_detail record;
begin
    for v_detail in select a.attname as name, col_description(a.attrelid, a.attnum) as comment from pg_attribute a
                    where a.attrelid = 'loci.memory_details'::regclass and a.attnum > 0 loop
        execute format('comment on column loci_data.memories.%I is %L', v_detail.name, v_detail.comment);
        execute format('comment on column loci.memory_record.%I is %L', v_detail.name, v_detail.comment);
    end loop;
end $$;
comment on type loci_internal.memory_input is
    'One item of a write: as parsed, and once placed in its lineage with recorded_at, the version that it ends (and '
    'whether that goes on after it), the one that becomes longer until a moment because what followed was corrected, '
    'whether it is a duplicate, and what becomes of one (reinforce, update, refuse).';
comment on type loci_internal.memory_outcome is
    'What became of one item: the memory it made or reinforced, the version it superseded, what a duplicate stated '
    'otherwise, and where a later version cut its validity short ({stated, kept, by}).';
comment on type loci.memory_record is 'A memory as REST, SQL and MCP show it; cursor pages listings.';
comment on column loci.memory_record.id is 'Identifier of this version.';
comment on column loci.memory_record.lineage is 'Name that groups the versions.';
comment on column loci.memory_record.version is '1 for the first, in the order of recording.';
comment on column loci.memory_record.content is 'The statement.';
comment on column loci.memory_record.parent_id is 'The memory it stood under, now or when it was last valid.';
comment on column loci.memory_record.valid_from is 'Valid time: from when it is true.';
comment on column loci.memory_record.valid_to is 'Valid time: until when (exclusive); null: still.';
comment on column loci.memory_record.recorded_at is 'Recorded time: when it was written.';
comment on column loci.memory_record.superseded_at is
    'Recorded time: when a later version first ended it; null where that is still to come.';
comment on column loci.memory_record.current is 'Whether it is active and valid now.';
comment on column loci.memory_record.status is 'active or forgotten.';
comment on column loci.memory_record.source is 'Who said it.';
comment on column loci.memory_record.session_id is 'The conversation it comes from.';
comment on column loci.memory_record.observations is 'How often exactly this was written.';
comment on column loci.memory_record.last_observed_at is 'When it was last written.';
comment on column loci.memory_record.updated_at is 'When any column last changed.';
comment on column loci.memory_record.cursor is 'Pass it as cursor to go on after this row.';
comment on type loci_internal.memory_filter is
    'What recall and listings are restricted to, resolved by loci_internal.resolve_filter: filters, and the two '
    'times. known_at null: what is believed now. begun_by: the latest present valid_from that can be visible.';

comment on table loci_data.lineages is
    'Names under which memories have versions. The row is the lock that makes two writers of one lineage take turns.';
comment on column loci_data.lineages.namespace_id is 'The namespace.';
comment on column loci_data.lineages.lineage is 'The name, such as alice-location.';
comment on column loci_data.lineages.id is 'Identifier of the lineage: the id of its first version.';
comment on column loci_data.lineages.versions is 'How many versions were ever written.';
comment on column loci_data.lineages.written_at is
    'Recorded time of its last write: the next one is later, even if the clock went back.';
comment on table loci_data.memories is
    'One row a version of a memory: a statement in natural language with two times.';
comment on column loci_data.memories.namespace_id is 'The namespace.';
comment on column loci_data.memories.id is 'Identifier of this version (UUID version 7: ordered by time).';
comment on column loci_data.memories.doc_id is
    'Document number in the lexical index; also the order of arrival that listings page by.';
comment on column loci_data.memories.lineage is
    'Name that groups all versions; a memory written without one has its own id as the name.';
comment on column loci_data.memories.lineage_id is
    'Id of the lineage''s first version: the node that hierarchy and links attach to.';
comment on column loci_data.memories.version is '1 for the first, counted in the order of recording.';
comment on column loci_data.memories.content is 'The statement; at most 1 MiB of UTF-8.';
comment on column loci_data.memories.content_hash is 'SHA-256 of the content.';
comment on column loci_data.memories.fold_scope is
    'Exact duplicates fold when content and this agree: empty text for a memory without a stated lineage, else the '
    'lineage; null is never folded (episodes, stated valid_from).';
comment on column loci_data.memories.valid_from is 'Valid time: from when the statement is true.';
comment on column loci_data.memories.valid_to is
    'Valid time: until when (exclusive); null: still. Equal to valid_from: never true, a corrected error.';
comment on column loci_data.memories.recorded_at is 'Recorded time: when this version was written.';
comment on column loci_data.memories.believed_at is
    'Recorded time: since when the present validity, status and details are believed; earlier beliefs are in '
    'memory_beliefs.';
comment on column loci_data.memories.superseded_at is
    'Recorded time: when a later version first ended this one; null: none has.';
comment on column loci_data.memories.status is 'active or forgotten.';
comment on column loci_data.memories.source is 'Who said it.';
comment on column loci_data.memories.session_id is 'The conversation it comes from.';
comment on column loci_data.memories.observations is
    'How often exactly this was written: 1, plus one for each folded duplicate.';
comment on column loci_data.memories.last_observed_at is 'When it was last written.';
comment on column loci_data.memories.created_by is 'The agent that wrote it.';
comment on column loci_data.memories.updated_at is 'When any column last changed.';
comment on table loci_data.memory_beliefs is
    'What was believed of a memory before: kept by a trigger whenever its validity, status or details change, so that '
    'known_at can be answered.';
comment on column loci_data.memory_beliefs.namespace_id is 'The namespace.';
comment on column loci_data.memory_beliefs.memory_id is 'The memory.';
comment on column loci_data.memory_beliefs.valid_from is 'The valid_from believed then.';
comment on column loci_data.memory_beliefs.valid_to is 'The valid_to believed then; null: open.';
comment on column loci_data.memory_beliefs.status is 'The status then.';
comment on column loci_data.memory_beliefs.details is 'What was said about it then.';
comment on column loci_data.memory_beliefs.believed_at is 'Since when this was believed.';
comment on column loci_data.memory_beliefs.believed_to is 'Until when (exclusive).';
comment on table loci_data.memory_placements is
    'Where lineages stand in the hierarchy, in both times: at any moment, as known at any moment, a node has at most '
    'one parent. Rows are only added, and ended by superseded_at.';
comment on column loci_data.memory_placements.namespace_id is 'The namespace.';
comment on column loci_data.memory_placements.node_id is 'lineage_id of the memory that stands there.';
comment on column loci_data.memory_placements.parent_id is 'lineage_id of the memory that it stands under.';
comment on column loci_data.memory_placements.valid_from is
    'Valid time: from when; -infinity for the first place of a lineage.';
comment on column loci_data.memory_placements.valid_to is 'Valid time: until when (exclusive); null: still.';
comment on column loci_data.memory_placements.recorded_at is 'Recorded time: since when this is believed.';
comment on column loci_data.memory_placements.superseded_at is 'Recorded time: until when (exclusive); null: still.';
comment on table loci_data.memory_closure is
    'Transitive closure of memory_placements, kept by its triggers in the transaction of the change: one row '
    'a path, valid and believed where all steps of the path are.';
comment on column loci_data.memory_closure.namespace_id is 'The namespace.';
comment on column loci_data.memory_closure.ancestor_id is 'lineage_id of the node above.';
comment on column loci_data.memory_closure.descendant_id is 'lineage_id of the node below.';
comment on column loci_data.memory_closure.depth is 'Steps between them, at least 1.';
comment on column loci_data.memory_closure.valid_from is 'Valid time: from when the path holds.';
comment on column loci_data.memory_closure.valid_to is 'Valid time: until when (exclusive); null: still.';
comment on column loci_data.memory_closure.recorded_at is 'Recorded time: since when the path is believed.';
comment on column loci_data.memory_closure.superseded_at is 'Recorded time: until when (exclusive); null: still.';
comment on table loci_data.memory_links is
    'Typed, weighted relations between memories. Both ends are lineage ids, so that they survive new '
    'versions. Another strength is another row.';
comment on column loci_data.memory_links.namespace_id is 'The namespace.';
comment on column loci_data.memory_links.source_id is 'lineage_id the link starts from.';
comment on column loci_data.memory_links.target_id is 'lineage_id the link points to.';
comment on column loci_data.memory_links.type is 'Free text: related_to, part_of, contradicts, supports, ….';
comment on column loci_data.memory_links.strength is '0 to 1.';
comment on column loci_data.memory_links.recorded_at is 'Recorded time: since when this is believed.';
comment on column loci_data.memory_links.superseded_at is 'Recorded time: until when (exclusive); null: still.';
