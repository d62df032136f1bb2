-- What retain works with: facts as read, what is known beside them, and what is decided about them. No tables:
-- decisions leave
-- memories, versions, links and places.

create type loci_api.fact_reading as (
    gist     text[],
    spoken   text[],
    marks    text,
    speaker  text,
    names    text[],
    past     boolean,
    compound boolean,
    said     loci_internal.statement
);
create type loci_api.fact_candidate as (
    ordinal    integer,
    fact       integer,
    memory_id  uuid,
    lineage    text,
    content    text,
    valid_from timestamptz,
    later      boolean,
    exact      boolean,
    same       boolean,
    alike      boolean,
    similarity double precision,
    overlap    double precision,
    signal     text,
    confidence double precision,
    evidence   text[],
    sure       boolean,
    source     text
);
create type loci_api.fact_decision as (
    ordinal    integer,
    action     text,
    target_id  uuid,
    fact       integer,
    lineage    text,
    confidence double precision,
    reason     text,
    signal     text,
    links      jsonb
);
comment on type loci_api.fact_reading is
    'A fact as retain reads it: gist (stems in order, without articles; pairs of characters where no spaces stand '
    'between words), spoken (the words behind them), marks (signs that change what words say), speaker (i, we, named; '
    'other: nobody knows who), names (stems of capitalised words but the first), past (told as past), compound (says '
    'several things), said (null for long texts).';
comment on type loci_api.fact_candidate is
    'What is known beside a fact: a memory, or an earlier fact of the same text (fact), how near it is (similarity of '
    'vectors, overlap of words; exact, same words, alike but for words that change nothing), and whether the later of '
    'the two contradicts the other. sure: enough to make a version of it.';
comment on column loci_api.fact_candidate.ordinal is 'Which fact, by its place in items.';
comment on column loci_api.fact_candidate.fact is
    'Which fact, by its place in items, if the candidate is an earlier fact of the text.';
comment on column loci_api.fact_candidate.memory_id is
    'The memory that is known; null: it is an earlier fact of the text.';
comment on column loci_api.fact_candidate.lineage is 'Name that groups its versions.';
comment on column loci_api.fact_candidate.content is 'The statement.';
comment on column loci_api.fact_candidate.valid_from is 'Valid time: from when.';
comment on column loci_api.fact_candidate.later is 'Whether it is valid from later on.';
comment on column loci_api.fact_candidate.exact is 'Whether the content is the same.';
comment on column loci_api.fact_candidate.same is 'Whether the words are the same in their stems.';
comment on column loci_api.fact_candidate.alike is 'Whether they differ only in words that change nothing.';
comment on column loci_api.fact_candidate.similarity is 'Cosine similarity; null: there is no vector.';
comment on column loci_api.fact_candidate.overlap is 'Share of words in common, 0 to 1.';
comment on column loci_api.fact_candidate.signal is 'negation, antonym, value_conflict or temporal_marker.';
comment on column loci_api.fact_candidate.confidence is 'Confidence of the signal.';
comment on column loci_api.fact_candidate.evidence is 'The words that decided.';
comment on column loci_api.fact_candidate.sure is 'Whether rules alone decide that it contradicts.';
comment on column loci_api.fact_candidate.source is 'Who or what told it.';
comment on type loci_api.fact_decision is
    'What retain does with a fact: create, update, link or nothing; its target (a memory, or an earlier fact of the '
    'text), and links to add as an array of {target_id or fact, type, strength}.';

-- What reflect works with: memories without a place, and where they are to stand.
create index memories_concepts on loci_data.memories (namespace_id, category collate "C", doc_id) where layer <= 1;

create type loci_api.orphan as (
    doc_id   bigint,
    id       uuid,
    node_id  uuid,
    content  text,
    category text,
    layer    smallint
);
create type loci_api.planned_place as (
    memory_id  uuid,
    node_id    uuid,
    parent_id  uuid,
    parent     text,
    path       text,
    similarity double precision,
    reason     text
);
comment on type loci_api.orphan is 'A current fact or episode whose lineage never stood under another.';
comment on type loci_api.planned_place is
    'Where reflect puts a memory: under a memory that there is (parent_id), or under the lineage parent, which is to '
    'be made for the category path.';
