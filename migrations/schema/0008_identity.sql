-- Which entities are the same, and what an entity means: merges and splits with what undoes them, and vectors of
-- entities.

create table loci_data.entity_merges (
    namespace_id integer not null,
    id           uuid not null,
    kind         text not null default 'merge',
    kept_id      uuid not null,
    merged_id    uuid not null,
    reason       text,
    automatic    boolean not null default false,
    moved        jsonb not null default '{}',
    decided_at   timestamptz not null,
    decided_by   uuid,
    undone_at    timestamptz,
    primary key (namespace_id, id),
    constraint entity_merges_kept_fkey foreign key (namespace_id, kept_id)
        references loci_data.entities (namespace_id, id) on delete cascade,
    constraint entity_merges_merged_fkey foreign key (namespace_id, merged_id)
        references loci_data.entities (namespace_id, id) on delete cascade,
    constraint entity_merges_kind_check check (kind in ('merge', 'split')),
    constraint entity_merges_reason_check check (length(reason) <= 1000),
    constraint entity_merges_moved_check check (jsonb_typeof(moved) = 'object'),
    constraint entity_merges_undone_check check (undone_at >= decided_at)
);
create index entity_merges_kept on loci_data.entity_merges (namespace_id, kept_id, id);
create index entity_merges_merged on loci_data.entity_merges (namespace_id, merged_id, id);

-- An edge whose end changes is closed and recorded anew, so that every moment of the past keeps its answer.
create table loci_data.edge_moves (
    namespace_id integer not null,
    merge_id     uuid not null,
    old_id       uuid not null,
    new_id       uuid not null,
    part         text not null,
    primary key (namespace_id, merge_id, old_id, new_id),
    constraint edge_moves_merge_fkey foreign key (namespace_id, merge_id)
        references loci_data.entity_merges (namespace_id, id) on delete cascade,
    constraint edge_moves_part_check check (part in ('moved', 'joined', 'loop', 'undone'))
);
create index edge_moves_old on loci_data.edge_moves (namespace_id, old_id);
create index edge_moves_new on loci_data.edge_moves (namespace_id, new_id);

create table loci_data.entity_vectors (
    namespace_id integer not null,
    entity_id    uuid not null,
    model_id     smallint not null references loci_data.embedding_models,
    embedding    halfvec not null,
    primary key (namespace_id, entity_id, model_id),
    constraint entity_vectors_entity_fkey foreign key (namespace_id, entity_id)
        references loci_data.entities (namespace_id, id) on delete cascade
) partition by hash (namespace_id);
alter table loci_data.entity_vectors alter column embedding set storage main;

do $$
begin
    for i in 0..15 loop
        execute format('create table loci_data.entity_vectors_%s partition of loci_data.entity_vectors
                        for values with (modulus 16, remainder %s)', lpad(i::text, 2, '0'), i);
    end loop;
end $$;

create table loci_data.entity_queue (
    namespace_id integer not null,
    entity_id    uuid not null,
    model_id     smallint not null references loci_data.embedding_models on delete cascade,
    enqueued_at  timestamptz not null default now(),
    error        text,
    primary key (namespace_id, entity_id, model_id),
    constraint entity_queue_entity_fkey foreign key (namespace_id, entity_id)
        references loci_data.entities (namespace_id, id) on delete cascade
);
create index entity_queue_waiting on loci_data.entity_queue (namespace_id, model_id, enqueued_at) where error is null;
create index entity_queue_refused on loci_data.entity_queue (namespace_id, model_id) where error is not null;

comment on table loci_data.entity_merges is
    'Decisions that two entities are one (merge), or that one is two (split), and when they were undone.';
comment on column loci_data.entity_merges.namespace_id is 'The namespace.';
comment on column loci_data.entity_merges.id is 'Identifier (UUID version 7).';
comment on column loci_data.entity_merges.kind is 'merge, or split.';
comment on column loci_data.entity_merges.kept_id is 'The entity that stays.';
comment on column loci_data.entity_merges.merged_id is
    'The entity that went into it; of a split: the one that came out of it.';
comment on column loci_data.entity_merges.reason is 'Why, in words.';
comment on column loci_data.entity_merges.automatic is 'Whether loci_api.merge_duplicate_entities decided it.';
comment on column loci_data.entity_merges.moved is
    'What undoing it needs beside edge_moves: ids, figures and hashes, never text.';
comment on column loci_data.entity_merges.decided_at is 'Recorded time: when.';
comment on column loci_data.entity_merges.decided_by is 'The agent who decided it.';
comment on column loci_data.entity_merges.undone_at is 'Recorded time: when it was undone; null: it holds.';
comment on table loci_data.edge_moves is
    'Which edge was recorded anew as which, when one of its ends was merged, split or given back.';
comment on column loci_data.edge_moves.namespace_id is 'The namespace.';
comment on column loci_data.edge_moves.merge_id is 'The merge or split.';
comment on column loci_data.edge_moves.old_id is 'The edge that was closed.';
comment on column loci_data.edge_moves.new_id is 'The edge that took its place; of a loop: none has this id.';
comment on column loci_data.edge_moves.part is
    'moved: its end changed; joined: an edge of the kept entity that a moved one met; loop: it would lead from an '
    'entity to itself, and was only closed; undone: closed again by undoing.';
comment on table loci_data.entity_vectors is
    'Embeddings of entities, beside them and not in them, like memory_vectors. One partial HNSW index a model on each '
    'partition (m = 24, ef_construction = 128, cosine).';
comment on column loci_data.entity_vectors.namespace_id is 'The namespace.';
comment on column loci_data.entity_vectors.entity_id is 'The entity.';
comment on column loci_data.entity_vectors.model_id is 'The model that made the vector.';
comment on column loci_data.entity_vectors.embedding is 'Unit vector, 16-bit floats.';
comment on table loci_data.entity_queue is
    'Entities that wait for a vector: new ones, and those whose name, type, aliases or description changed. Claimed '
    'with SKIP LOCKED, deleted with the arrival of the vector.';
comment on column loci_data.entity_queue.namespace_id is 'The namespace.';
comment on column loci_data.entity_queue.entity_id is 'The entity.';
comment on column loci_data.entity_queue.model_id is 'The model that should embed it.';
comment on column loci_data.entity_queue.enqueued_at is 'Since when it waits.';
comment on column loci_data.entity_queue.error is
    'Why the provider refused this text for good; null: still to be tried.';
