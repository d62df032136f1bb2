-- What the arms of recall read: texts, postings, vectors, and the queue that fills the vectors.
-- Tables with an index that cannot start with namespace_id (GIN, HNSW) are hash-partitioned by it.

create table loci_data.memory_texts (
    namespace_id integer not null,
    memory_id    uuid not null,
    document     tsvector not null,
    primary key (namespace_id, memory_id),
    constraint memory_texts_memory_fkey foreign key (namespace_id, memory_id)
        references loci_data.memories (namespace_id, id) on delete cascade
) partition by hash (namespace_id);
create index memory_texts_document on loci_data.memory_texts using gin (document);

-- No foreign key: a write would lock its namespace once for each of its words. A trigger deletes them with that.
create table loci_data.postings (
    namespace_id integer not null,
    term         bigint not null,
    id           bigint generated always as identity,
    size         integer not null,
    entries      bigint[] not null,
    primary key (namespace_id, term, id),
    constraint postings_size_check check (size = cardinality(entries) and size > 0)
);
alter table loci_data.postings alter column entries set storage external;

create table loci_data.lexical_ranges (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    range        integer not null,
    first        bigint not null,
    last         bigint not null,
    places       integer not null,
    size         integer not null,
    slope        double precision not null,
    corpus       bigint not null,
    documents    bigint[] not null,
    primary key (namespace_id, range),
    constraint lexical_ranges_size_check check (size between 0 and places),
    constraint lexical_ranges_places_check check (places between 1 and 8000 and places = cardinality(documents))
);
alter table loci_data.lexical_ranges alter column documents set storage external;

create table loci_data.lexical_impacts (
    namespace_id integer not null,
    range        integer not null,
    term         bigint not null,
    size         integer not null,
    weight       real not null,
    sparse       sparsevec,
    dense        halfvec,
    primary key (namespace_id, range, term) include (size),
    constraint lexical_impacts_range_fkey foreign key (namespace_id, range)
        references loci_data.lexical_ranges (namespace_id, range) on delete cascade,
    constraint lexical_impacts_size_check check (size > 0),
    constraint lexical_impacts_form_check check (num_nonnulls(sparse, dense) = 1)
);
alter table loci_data.lexical_impacts alter column sparse set storage external;
alter table loci_data.lexical_impacts alter column dense set storage external;

create table loci_data.corpus_counts (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    id           bigint generated always as identity,
    documents    bigint not null,
    terms        bigint not null,
    primary key (namespace_id, id)
);

create table loci_data.embedding_models (
    id         smallint generated always as identity primary key,
    name       text not null unique,
    dimensions integer not null,
    asks       integer,
    active     boolean not null default false,
    filling    boolean not null default false,
    chosen     boolean not null default false,
    queued_at  timestamptz,
    dropped_at timestamptz,
    created_at timestamptz not null default now(),
    constraint embedding_models_dimensions_check check (dimensions between 1 and 4000),
    constraint embedding_models_state_check check (not (active and filling))
);
create unique index embedding_models_active on loci_data.embedding_models (active) where active;
create unique index embedding_models_filling on loci_data.embedding_models (filling) where filling;

create table loci_data.memory_vectors (
    namespace_id integer not null,
    memory_id    uuid not null,
    model_id     smallint not null references loci_data.embedding_models,
    embedding    halfvec not null,
    primary key (namespace_id, memory_id, model_id),
    constraint memory_vectors_memory_fkey foreign key (namespace_id, memory_id)
        references loci_data.memories (namespace_id, id) on delete cascade
) partition by hash (namespace_id);
alter table loci_data.memory_vectors alter column embedding set storage main;

do $$
begin
    for i in 0..15 loop
        execute format('create table loci_data.memory_texts_%s partition of loci_data.memory_texts
                        for values with (modulus 16, remainder %s)', lpad(i::text, 2, '0'), i);
        execute format('create table loci_data.memory_vectors_%s partition of loci_data.memory_vectors
                        for values with (modulus 16, remainder %s)', lpad(i::text, 2, '0'), i);
    end loop;
end $$;

create table loci_data.vector_means (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    model_id     smallint not null references loci_data.embedding_models on delete cascade,
    vectors      bigint not null,
    stored       bigint not null,
    mean         vector not null,
    primary key (namespace_id, model_id)
);

create table loci_data.projections (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    model_id     smallint not null references loci_data.embedding_models on delete cascade,
    vectors      bigint not null,
    mean         vector not null,
    axes         vector[] not null,
    centres      vector[] not null,
    created_at   timestamptz not null default now(),
    primary key (namespace_id, model_id),
    constraint projections_axes_check check (cardinality(axes) = 3),
    constraint projections_centres_check check (cardinality(centres) between 1 and 7)
);

create table loci_data.map_layouts (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    model_id     smallint not null references loci_data.embedding_models on delete cascade,
    dims         smallint not null,
    method       text not null default 'umap',
    memories     bigint not null,
    made_at      timestamptz not null default now(),
    primary key (namespace_id, model_id, dims),
    constraint map_layouts_dims_check check (dims in (2, 3)),
    constraint map_layouts_method_check check (method = 'umap')
);

create table loci_data.map_points (
    namespace_id integer not null,
    memory_id    uuid not null,
    model_id     smallint not null,
    dims         smallint not null,
    x            real not null,
    y            real not null,
    z            real,
    added        boolean not null,
    primary key (namespace_id, memory_id, model_id, dims),
    constraint map_points_layout_fkey foreign key (namespace_id, model_id, dims) references loci_data.map_layouts
        on delete cascade,
    constraint map_points_vector_fkey foreign key (namespace_id, memory_id, model_id)
        references loci_data.memory_vectors on delete cascade,
    constraint map_points_dims_check check ((dims = 3) = (z is not null)),
    constraint map_points_finite_check check (abs(x) < 1e6 and abs(y) < 1e6 and abs(z) < 1e6)
);

create table loci_data.embedding_queue (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    memory_id    uuid not null,
    model_id     smallint not null references loci_data.embedding_models on delete cascade,
    enqueued_at  timestamptz not null default now(),
    error        text,
    has_vector   boolean not null default false,
    primary key (namespace_id, memory_id, model_id)
);
create index embedding_queue_waiting on loci_data.embedding_queue (namespace_id, model_id, enqueued_at)
where error is null;
create index embedding_queue_refused on loci_data.embedding_queue (namespace_id, model_id) where error is not null;

comment on table loci_data.memory_texts is
    'The indexed text of each memory, cut into terms: content, tags, category, who said it and when. '
    'For phrase and websearch queries; ranking reads postings.';
comment on column loci_data.memory_texts.namespace_id is 'The namespace.';
comment on column loci_data.memory_texts.memory_id is 'The memory.';
comment on column loci_data.memory_texts.document is 'tsvector in the namespace''s language.';
comment on table loci_data.postings is
    'Inverted index for exact BM25: blocks of postings of one term. A statement that adds memories writes its own '
    'blocks, so writers never wait for each other; the worker joins small blocks.';
comment on column loci_data.postings.namespace_id is 'The namespace.';
comment on column loci_data.postings.term is
    'hashtextextended(lexeme, 0): no dictionary to keep, and no text of an erased memory stays behind.';
comment on column loci_data.postings.id is 'Number of the block.';
comment on column loci_data.postings.size is
    'Number of entries; their sum over a term''s blocks is its document frequency.';
comment on column loci_data.postings.entries is
    'Packed: doc_id in the high 40 bits, then 8 bits of term frequency (at most 255) and 15 of document length in '
    'terms (at most 32767); ascending.';
comment on table loci_data.lexical_ranges is
    'Documents of a large namespace whose postings the worker has taken out of the blocks: ranges of up to 8,000. A '
    'document is in the blocks or in one range, never in both. Derived: written anew when the statistics have moved.';
comment on column loci_data.lexical_ranges.namespace_id is 'The namespace.';
comment on column loci_data.lexical_ranges.range is 'Number of the range; its documents need not be neighbours.';
comment on column loci_data.lexical_ranges.first is 'Its lowest doc_id when it was written.';
comment on column loci_data.lexical_ranges.last is 'Its highest doc_id when it was written.';
comment on column loci_data.lexical_ranges.places is 'How many documents it had when it was written.';
comment on column loci_data.lexical_ranges.size is 'How many of its documents are left.';
comment on column loci_data.lexical_ranges.slope is
    'k1 * b / mean length of a document, as it was when the range was written.';
comment on column loci_data.lexical_ranges.corpus is 'Documents of the namespace when the range was written.';
comment on column loci_data.lexical_ranges.documents is
    'By place (a dimension of the vectors): doc_id above 15 bits of document length; 0 where the document has gone.';
comment on table loci_data.lexical_impacts is
    'What a term contributes to the BM25 of each document of a range (its impact; Anh and Moffat, 2006), as a vector '
    'that pgvector can add up. Frequencies can be read back from it exactly.';
comment on column loci_data.lexical_impacts.namespace_id is 'The namespace.';
comment on column loci_data.lexical_impacts.range is 'The range.';
comment on column loci_data.lexical_impacts.term is 'The term, as in postings.';
comment on column loci_data.lexical_impacts.size is 'Number of documents of the range that have the term.';
comment on column loci_data.lexical_impacts.weight is
    '(k1 + 1) * idf of the term, as it was when the row was written: the impact is weight * tf / (tf + k1 * norm).';
comment on column loci_data.lexical_impacts.sparse is 'Impacts by place; null where dense is shorter.';
comment on column loci_data.lexical_impacts.dense is
    'The same as 16-bit floats, where many documents have the term and its frequencies can be told from them.';
comment on table loci_data.corpus_counts is
    'Number of documents and terms of a namespace, as deltas to be summed: a statement adds a row, so writers never '
    'wait for each other; the worker folds them.';
comment on column loci_data.corpus_counts.namespace_id is 'The namespace.';
comment on column loci_data.corpus_counts.id is 'Number of the delta.';
comment on column loci_data.corpus_counts.documents is 'Documents added (negative: removed).';
comment on column loci_data.corpus_counts.terms is 'Terms added, counted with repetition (negative: removed).';
comment on table loci_data.embedding_models is
    'Models that have made vectors here. One is active: recall asks it. One may be filling: it gets vectors of all '
    'behind the active one, to take its place. Any other is retired: its vectors are being dropped, or are gone.';
comment on column loci_data.embedding_models.id is 'Number of the model.';
comment on column loci_data.embedding_models.name is 'Provider and model, such as static/wordllama-256.';
comment on column loci_data.embedding_models.dimensions is 'Length of its vectors.';
comment on column loci_data.embedding_models.asks is
    'Dimensions that an endpoint is asked for; null: as many as it gives. They are the end of the name then.';
comment on column loci_data.embedding_models.active is 'Whether recall uses it.';
comment on column loci_data.embedding_models.filling is
    'Whether it is being filled, behind the active one: all that is written waits for a vector of both.';
comment on column loci_data.embedding_models.chosen is
    'Whether somebody asked for it by name: then no service changes it for being configured with another.';
comment on column loci_data.embedding_models.queued_at is
    'When all that was there before waited for a vector of it; null: not yet.';
comment on column loci_data.embedding_models.dropped_at is
    'When the last vector of a retired model was dropped; null: it is in use, or vectors are left.';
comment on column loci_data.embedding_models.created_at is 'When it was first used.';
comment on table loci_data.memory_vectors is
    'Embeddings of memories, beside them and not in them: a changed counter never touches the HNSW index, and two '
    'models can live side by side. One partial HNSW index a model on each partition (m = 24, ef_construction = 128, '
    'cosine).';
comment on column loci_data.memory_vectors.namespace_id is 'The namespace.';
comment on column loci_data.memory_vectors.memory_id is 'The memory.';
comment on column loci_data.memory_vectors.model_id is 'The model that made the vector.';
comment on column loci_data.memory_vectors.embedding is 'Unit vector, 16-bit floats.';
comment on table loci_data.vector_means is
    'The mean of a namespace''s vectors, which a question is told apart from. See keep_vector_mean.';
comment on column loci_data.vector_means.namespace_id is 'The namespace.';
comment on column loci_data.vector_means.model_id is 'The model that made the vectors.';
comment on column loci_data.vector_means.vectors is 'How many there were when it was counted.';
comment on column loci_data.vector_means.stored is 'How many were stored since.';
comment on column loci_data.vector_means.mean is 'Their mean.';
comment on table loci_data.projections is
    'Where the map of a namespace is seen from: the first three principal components of its vectors. Points follow '
    'from these, so a new memory moves no other. Deleted when a memory is erased, and made anew when next asked for.';
comment on column loci_data.projections.namespace_id is 'The namespace.';
comment on column loci_data.projections.model_id is 'The model that made the vectors.';
comment on column loci_data.projections.vectors is 'How many vectors there were then.';
comment on column loci_data.projections.mean is 'Mean of those that were looked at: the middle of the map.';
comment on column loci_data.projections.axes is 'Three unit vectors, at right angles; the first two make a flat map.';
comment on column loci_data.projections.centres is
    'Middles of the clusters that were found then: a memory belongs to the nearest, so a new one moves none.';
comment on column loci_data.projections.created_at is 'When they were found.';
comment on table loci_data.map_layouts is
    'Maps that a job has laid out: where each memory stands is a row of map_points. Made when somebody asks for it.';
comment on column loci_data.map_layouts.namespace_id is 'The namespace.';
comment on column loci_data.map_layouts.model_id is 'The model that made the vectors.';
comment on column loci_data.map_layouts.dims is '2: a flat map; 3: one in space.';
comment on column loci_data.map_layouts.method is 'umap (McInnes, Healy and Melville, 2018).';
comment on column loci_data.map_layouts.memories is 'How many memories were laid out.';
comment on column loci_data.map_layouts.made_at is 'When.';
comment on table loci_data.map_points is
    'Where a memory stands on a map that was laid out. Deleted with its vector; no other point moves then.';
comment on column loci_data.map_points.namespace_id is 'The namespace.';
comment on column loci_data.map_points.memory_id is 'The memory.';
comment on column loci_data.map_points.model_id is 'The model that made its vector.';
comment on column loci_data.map_points.dims is 'Of the map: 2 or 3.';
comment on column loci_data.map_points.x is 'To the right.';
comment on column loci_data.map_points.y is 'Upwards.';
comment on column loci_data.map_points.z is 'Towards the reader; null: the map is flat.';
comment on column loci_data.map_points.added is
    'false: it was laid out. true: it took no part, and stands between those it is nearest to.';
comment on table loci_data.embedding_queue is
    'Memories that wait for a vector. Written in the transaction of the memory, claimed with SKIP LOCKED, deleted '
    'with the arrival of the vector.';
comment on column loci_data.embedding_queue.namespace_id is 'The namespace.';
comment on column loci_data.embedding_queue.memory_id is 'The memory.';
comment on column loci_data.embedding_queue.model_id is 'The model that should embed it.';
comment on column loci_data.embedding_queue.enqueued_at is 'Since when it waits.';
comment on column loci_data.embedding_queue.error is
    'Why the provider refused this text for good; null: still to be tried.';
comment on column loci_data.embedding_queue.has_vector is
    'It waits for a new vector, and its old one of this model serves until then.';
