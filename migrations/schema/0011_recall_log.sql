-- What was asked, what was answered, and what became of it. Only recalls that ask to be logged, or whose
-- namespace says so.

create table loci_data.recalls (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    id           uuid not null,
    at           timestamptz not null,
    agent_id     uuid not null,
    session_id   text,
    query        text not null,
    arms         text[] not null,
    fusion       text not null,
    k            integer not null,
    filters      jsonb not null default '{}',
    as_of        timestamptz,
    known_at     timestamptz,
    skipped      jsonb not null default '{}',
    results      integer not null,
    took_ms      double precision not null,
    primary key (namespace_id, id),
    constraint recalls_session_check check (length(session_id) between 1 and 255),
    constraint recalls_query_check check (length(query) <= 10000),
    constraint recalls_fusion_check check (fusion in ('linear', 'rrf', 'relative_score')),
    constraint recalls_results_check check (results >= 0)
);
create index recalls_at on loci_data.recalls (namespace_id, at);
create index recalls_session on loci_data.recalls (namespace_id, session_id, id) where session_id is not null;

create table loci_data.recall_results (
    namespace_id integer not null,
    recall_id    uuid not null,
    rank         integer not null,
    memory_id    uuid not null,
    score        double precision not null,
    arms         jsonb not null,
    useful       boolean,
    note         text,
    rated_at     timestamptz,
    rated_by     uuid,
    primary key (namespace_id, recall_id, rank),
    constraint recall_results_recall_fkey foreign key (namespace_id, recall_id)
        references loci_data.recalls (namespace_id, id) on delete cascade,
    constraint recall_results_memory_fkey foreign key (namespace_id, memory_id)
        references loci_data.memories (namespace_id, id) on delete cascade,
    constraint recall_results_rank_check check (rank > 0),
    constraint recall_results_arms_check check (jsonb_typeof(arms) = 'object'),
    constraint recall_results_note_check check (length(note) <= 10000),
    constraint recall_results_rated_check check ((useful is not null) = (rated_at is not null)
                                                 and (note is null or useful is not null))
);
create index recall_results_memory on loci_data.recall_results (namespace_id, memory_id);

comment on table loci_data.recalls is
    'Questions that were logged. The text of a question is the asker''s; it stays when memories that it found are '
    'erased.';
comment on column loci_data.recalls.namespace_id is 'The namespace.';
comment on column loci_data.recalls.id is
    'Identifier (UUID version 7); a question to several namespaces has the same one in each.';
comment on column loci_data.recalls.at is 'When it was asked.';
comment on column loci_data.recalls.agent_id is 'Who asked.';
comment on column loci_data.recalls.session_id is 'The conversation that asked.';
comment on column loci_data.recalls.query is 'The question, up to 10,000 characters.';
comment on column loci_data.recalls.arms is 'Arms that it asked for.';
comment on column loci_data.recalls.fusion is 'linear, rrf or relative_score.';
comment on column loci_data.recalls.k is 'How many results it asked for.';
comment on column loci_data.recalls.filters is 'Filters.';
comment on column loci_data.recalls.as_of is 'Valid at; null: now.';
comment on column loci_data.recalls.known_at is 'As known at; null: now.';
comment on column loci_data.recalls.skipped is 'Arms that did not take part, and why.';
comment on column loci_data.recalls.results is
    'Results of the whole answer: other namespaces, working memory and conversation included.';
comment on column loci_data.recalls.took_ms is 'Milliseconds until the ranking stood.';
comment on table loci_data.recall_results is
    'Memories that a logged question was answered with; gone when the memory is erased.';
comment on column loci_data.recall_results.namespace_id is 'The namespace.';
comment on column loci_data.recall_results.recall_id is 'The question.';
comment on column loci_data.recall_results.rank is
    'Place in the answer, from 1; places of other namespaces and tiers are missing.';
comment on column loci_data.recall_results.memory_id is 'The memory.';
comment on column loci_data.recall_results.score is 'Its fused score.';
comment on column loci_data.recall_results.arms is
    'By arm that found it: rank and score there. Empty: neighbours in its session lent it all that it has.';
comment on column loci_data.recall_results.useful is 'What was said of it later; null: nothing.';
comment on column loci_data.recall_results.note is 'Why.';
comment on column loci_data.recall_results.rated_at is 'When that was said last.';
comment on column loci_data.recall_results.rated_by is 'By whom.';
