-- Which attributes contradict their siblings: how a statement is read, what it is found by, and every decision (row
-- S7).

create type loci_internal.statement as (
    words          text[],
    sequence       text[],
    topic          text[],
    negators       text[],
    past           text[],
    now            text[],
    additive       boolean,
    moods          text[],
    opposites      text[],
    opposite_stems text[],
    subject        text[],
    predicate      text,
    relation       text,
    value          text[],
    kind           text,
    unit           text,
    years          text[],
    roles          boolean,
    cumulative     boolean,
    replaced       text[],
    spoken         jsonb,
    now_prefix     text[]
);
comment on type loci_internal.statement is
    'A statement, read: words (stems, all but articles), sequence and topic (what it is about), negators, markers of '
    'past and now, additive, moods, opposites (pairs and sides) with their stems, subject, predicate, relation (be, '
    'fn, count, change), value with its kind and unit, years, roles (a noun with one value), cumulative (a verb whose '
    'objects add up), replaced (what it says was there before), spoken (stem: word as written), now_prefix (the '
    'sequence as far as the word after a marker of now).';

create table loci_data.attribute_terms (
    namespace_id integer not null,
    aspect_id    uuid not null,
    term         bigint not null,
    attribute_id uuid not null,
    primary key (namespace_id, aspect_id, term, attribute_id),
    constraint attribute_terms_attribute_fkey foreign key (namespace_id, attribute_id)
        references loci_data.attributes (namespace_id, id) on delete cascade
);
create index attribute_terms_attribute on loci_data.attribute_terms (namespace_id, attribute_id);

-- Of two attributes, or of two edges of a type that has one target at a time.
create table loci_data.supersessions (
    namespace_id  integer not null,
    id            uuid not null,
    older_id      uuid,
    newer_id      uuid,
    older_edge_id uuid,
    newer_edge_id uuid,
    ended_at      timestamptz,
    signal        text not null,
    confidence    double precision not null,
    evidence      text[] not null default '{}',
    origin        text not null,
    status        text not null,
    created_at    timestamptz not null,
    decided_at    timestamptz,
    decided_by    uuid,
    undone_at     timestamptz,
    primary key (namespace_id, id),
    constraint supersessions_pair_key unique (namespace_id, older_id, newer_id),
    constraint supersessions_older_fkey foreign key (namespace_id, older_id)
        references loci_data.attributes (namespace_id, id) on delete cascade,
    constraint supersessions_newer_fkey foreign key (namespace_id, newer_id)
        references loci_data.attributes (namespace_id, id) on delete cascade,
    constraint supersessions_older_edge_fkey foreign key (namespace_id, older_edge_id)
        references loci_data.edges (namespace_id, id) on delete cascade,
    constraint supersessions_newer_edge_fkey foreign key (namespace_id, newer_edge_id)
        references loci_data.edges (namespace_id, id) on delete cascade,
    constraint supersessions_pair_check check (
        case when signal = 'single_valued'
             then num_nonnulls(older_id, newer_id) = 0 and num_nonnulls(older_edge_id, newer_edge_id, ended_at) = 3
             else num_nonnulls(older_id, newer_id) = 2 and num_nonnulls(older_edge_id, newer_edge_id, ended_at) = 0 end
        and (older_id <> newer_id) is not false and (older_edge_id <> newer_edge_id) is not false),
    constraint supersessions_signal_check check (signal in ('negation', 'antonym', 'value_conflict', 'temporal_marker',
                                                            'model', 'single_valued')),
    constraint supersessions_confidence_check check (confidence between 0 and 1),
    constraint supersessions_origin_check check (origin in ('inline', 'sweep', 'manual', 'pass')),
    constraint supersessions_status_check check (status in ('proposed', 'applied', 'dismissed', 'undone'))
);
create index supersessions_older_edge on loci_data.supersessions (namespace_id, older_edge_id)
where older_edge_id is not null;
create index supersessions_newer_edge on loci_data.supersessions (namespace_id, newer_edge_id)
where newer_edge_id is not null;
create index supersessions_ended on loci_data.supersessions (namespace_id, ended_at) where ended_at is not null;
create index supersessions_beside on loci_data.supersessions (namespace_id) where ended_at is not null
and status = 'undone';
create index supersessions_newer on loci_data.supersessions (namespace_id, newer_id);
create index supersessions_status on loci_data.supersessions (namespace_id, status, id);
create index supersessions_model on loci_data.supersessions (namespace_id, decided_at) where signal = 'model'
and status = 'applied';

-- Pairs on which all signals are silent: facts whose pairs wait for a model, and what it said.
create table loci_data.contradiction_queue (
    namespace_id integer not null,
    attribute_id uuid not null,
    primary key (namespace_id, attribute_id),
    constraint contradiction_queue_attribute_fkey foreign key (namespace_id, attribute_id)
        references loci_data.attributes (namespace_id, id) on delete cascade
);

create table loci_data.supersession_verdicts (
    namespace_id integer not null,
    older_id     uuid not null,
    newer_id     uuid not null,
    contradicts  boolean,
    confidence   double precision,
    judged_at    timestamptz not null default clock_timestamp(),
    primary key (namespace_id, older_id, newer_id),
    constraint supersession_verdicts_older_fkey foreign key (namespace_id, older_id)
        references loci_data.attributes (namespace_id, id) on delete cascade,
    constraint supersession_verdicts_newer_fkey foreign key (namespace_id, newer_id)
        references loci_data.attributes (namespace_id, id) on delete cascade,
    constraint supersession_verdicts_pair_check check (older_id <> newer_id),
    constraint supersession_verdicts_confidence_check check (confidence between 0 and 1)
);
create index supersession_verdicts_newer on loci_data.supersession_verdicts (namespace_id, newer_id);

comment on table loci_data.attribute_terms is
    'What active facts are found by when a sibling is written: hashes of the words of their topic and of what they '
    'state; kept by triggers.';
comment on column loci_data.attribute_terms.namespace_id is 'The namespace.';
comment on column loci_data.attribute_terms.aspect_id is 'The aspect.';
comment on column loci_data.attribute_terms.term is 'Hash of a stem of the topic, or of subject and predicate.';
comment on column loci_data.attribute_terms.attribute_id is 'The attribute.';
comment on table loci_data.supersessions is
    'Every decision that one attribute supersedes a sibling, one a pair, or that one edge ended another of its source '
    'and type; proposed, applied, dismissed or undone (row S7).';
comment on column loci_data.supersessions.namespace_id is 'The namespace.';
comment on column loci_data.supersessions.id is 'Identifier (UUID version 7).';
comment on column loci_data.supersessions.older_id is 'The attribute that is superseded; null: it is an edge.';
comment on column loci_data.supersessions.newer_id is 'The attribute that wins; null: it is an edge.';
comment on column loci_data.supersessions.older_edge_id is
    'The edge that ended, by the id that it had then; null: it is an attribute.';
comment on column loci_data.supersessions.newer_edge_id is
    'The edge that took its place, by the id that it had then; null: it is an attribute.';
comment on column loci_data.supersessions.ended_at is
    'Valid time: when the spell of the older edge ended; null: it is an attribute.';
comment on column loci_data.supersessions.signal is
    'What gave it away: negation, antonym, value_conflict or temporal_marker; model: a language model said so; '
    'single_valued: the edge type has one target at a time.';
comment on column loci_data.supersessions.confidence is 'Confidence of the signal, or of the model, 0 to 1.';
comment on column loci_data.supersessions.evidence is
    'The words that decided, of the older and of the newer; empty once one of the two was erased.';
comment on column loci_data.supersessions.origin is 'inline (at a write), sweep, manual, or pass (a model was asked).';
comment on column loci_data.supersessions.status is
    'proposed, applied, dismissed or undone. Of edges, undone: both hold beside each other; dismissed: it is no longer '
    'so, since other evidence came or went.';
comment on column loci_data.supersessions.created_at is 'When the pair was found.';
comment on column loci_data.supersessions.decided_at is 'When its status was last decided.';
comment on column loci_data.supersessions.decided_by is 'The agent that decided.';
comment on column loci_data.supersessions.undone_at is 'When it was undone, if it was.';
comment on table loci_data.contradiction_queue is
    'Active facts that were not yet compared with their siblings by a model; kept by triggers (setting '
    'supersession_model).';
comment on column loci_data.contradiction_queue.namespace_id is 'The namespace.';
comment on column loci_data.contradiction_queue.attribute_id is 'The attribute.';
comment on table loci_data.supersession_verdicts is
    'Pairs of siblings that a model was asked about, and what it said: none is asked about twice.';
comment on column loci_data.supersession_verdicts.namespace_id is 'The namespace.';
comment on column loci_data.supersession_verdicts.older_id is 'The attribute that is older in valid time.';
comment on column loci_data.supersession_verdicts.newer_id is 'The attribute that is newer.';
comment on column loci_data.supersession_verdicts.contradicts is
    'Whether the model said that they contradict each other; null: it left the pair out, or said both.';
comment on column loci_data.supersession_verdicts.confidence is 'How sure it was, 0 to 1.';
comment on column loci_data.supersession_verdicts.judged_at is 'When.';
