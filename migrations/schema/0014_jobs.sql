-- Work that is done later, what passes that use a model have done, and what each call of a model
-- cost.

-- The queue tells nobody: a notice reaches every login of the database, with the number of the job in it, and while
-- the server's queue of notices is full, whoever sends one cannot commit. Workers look at the rows.
drop trigger procrastinate_jobs_notify_queue_job_inserted_v1 on loci_jobs.procrastinate_jobs;
drop trigger procrastinate_jobs_notify_queue_job_aborted_v1 on loci_jobs.procrastinate_jobs;

-- A job as its namespace sees it. Its place in the queue is a row of loci_jobs.procrastinate_jobs, made in the same
-- transaction, which knows
-- only the number: a trigger there keeps state, tries and times here in step.
create table loci_data.jobs (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    id           uuid not null,
    kind         text not null,
    key          text,
    turn         text,
    arguments    jsonb not null default '{}',
    state        text not null default 'waiting',
    tries        integer not null default 0,
    failures     integer not null default 0,
    postponed    integer not null default 0,
    agent_id     uuid,
    created_at   timestamptz not null default clock_timestamp(),
    due_at       timestamptz,
    started_at   timestamptz,
    finished_at  timestamptz,
    error        text,
    result       jsonb,
    turns_read   bigint[],
    queue_id     bigint,
    primary key (namespace_id, id),
    constraint jobs_kind_check check (kind ~ '^[a-z][a-z_]{0,63}$'),
    constraint jobs_state_check check (state in ('waiting', 'running', 'succeeded', 'dead', 'cancelled', 'skipped')),
    constraint jobs_finished_check check ((state in ('waiting', 'running')) = (finished_at is null)),
    constraint jobs_arguments_check check (jsonb_typeof(arguments) = 'object'),
    constraint jobs_result_check check (jsonb_typeof(result) = 'object')
);
-- Of jobs that say the same key, one waits for its first try.
create unique index jobs_key on loci_data.jobs (namespace_id, kind, key) where key is not null and state = 'waiting'
and tries = 0;
create index jobs_state on loci_data.jobs (namespace_id, state, id);
create index jobs_kind on loci_data.jobs (namespace_id, kind, id);
create index jobs_open on loci_data.jobs (namespace_id, kind, queue_id) where finished_at is null;
create index jobs_finished on loci_data.jobs (namespace_id, finished_at) where finished_at is not null;

create table loci_data.schedules (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    kind         text not null,
    cron         text not null,
    due_at       timestamptz not null,
    primary key (namespace_id, kind)
);

-- One row for each pass that a job has run to its end, written in the transaction of its changes: a job that is tried
-- again goes on behind it.
create table loci_data.pass_runs (
    namespace_id integer not null,
    id           uuid not null,
    job_id       uuid not null,
    pass         text not null,
    outcome      text not null,
    operation_id uuid,
    started_at   timestamptz not null,
    finished_at  timestamptz not null default clock_timestamp(),
    seen         integer not null default 0,
    proposed     integer not null default 0,
    applied      integer not null default 0,
    refused      jsonb not null default '[]',
    changes      jsonb not null default '[]',
    corpus       text,
    error        text,
    primary key (namespace_id, id),
    constraint pass_runs_job_key unique (namespace_id, job_id, pass),
    constraint pass_runs_job_fkey foreign key (namespace_id, job_id) references loci_data.jobs (namespace_id, id)
        on delete cascade,
    constraint pass_runs_pass_check check (pass in ('memories', 'entities', 'preferences', 'graph', 'contradictions',
                                                    'enrichment')),
    constraint pass_runs_outcome_check check (outcome in ('applied', 'unchanged', 'planned', 'stopped', 'failed')),
    constraint pass_runs_refused_check check (jsonb_typeof(refused) = 'array' and jsonb_typeof(changes) = 'array')
);
create index pass_runs_pass on loci_data.pass_runs (namespace_id, pass, id);

-- Episodes (memories of layer 3) that the extraction of entities has looked at, and by which job.
create table loci_data.episodes_read (
    namespace_id integer not null,
    memory_id    uuid not null,
    job_id       uuid not null,
    primary key (namespace_id, memory_id),
    constraint episodes_read_memory_fkey foreign key (namespace_id, memory_id)
        references loci_data.memories (namespace_id, id) on delete cascade
);
create index episodes_read_job on loci_data.episodes_read (namespace_id, job_id, memory_id);

create table loci_data.model_calls (
    namespace_id      integer not null references loci_data.namespaces on delete cascade,
    id                uuid not null,
    job_id            uuid,
    purpose           text not null,
    model             text not null,
    state             text not null default 'running',
    started_at        timestamptz not null default clock_timestamp(),
    took_ms           integer,
    prompt_tokens     integer not null,
    completion_tokens integer not null,
    estimated         boolean not null default true,
    cost              numeric not null default 0,
    error             text,
    usual_tokens      integer not null,
    usual_cost        numeric not null,
    ends_by           timestamptz not null,
    primary key (namespace_id, id),
    constraint model_calls_purpose_check check (purpose ~ '^[a-z][a-z_-]{0,63}$'),
    constraint model_calls_model_check check (length(model) between 1 and 255),
    constraint model_calls_error_check check (length(error) <= 500),
    constraint model_calls_state_check check (state in ('running', 'succeeded', 'failed')),
    constraint model_calls_tokens_check check (prompt_tokens >= 0 and completion_tokens >= 0 and cost >= 0)
);
create index model_calls_started on loci_data.model_calls (namespace_id, started_at);
create index model_calls_running on loci_data.model_calls (namespace_id, ends_by) where state = 'running';
create index model_calls_job on loci_data.model_calls (namespace_id, job_id, id);

-- What people and tools said about the agent's work; the passes learn from it.
create table loci_data.feedback_signals (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    id           uuid not null,
    kind         text not null,
    content      text not null,
    session_id   text,
    memory_id    uuid,
    agent_id     uuid,
    at           timestamptz not null default clock_timestamp(),
    primary key (namespace_id, id),
    constraint feedback_signals_memory_fkey foreign key (namespace_id, memory_id)
        references loci_data.memories (namespace_id, id) on delete cascade,
    constraint feedback_signals_kind_check check (kind in ('correction', 'tool_failure', 'praise', 'complaint',
                                                           'note')),
    constraint feedback_signals_content_check check (length(content) between 1 and 10000),
    constraint feedback_signals_session_check check (length(session_id) between 1 and 255)
);
create index feedback_signals_at on loci_data.feedback_signals (namespace_id, at);
create index feedback_signals_memory on loci_data.feedback_signals (namespace_id, memory_id)
where memory_id is not null;

comment on table loci_data.jobs is
    'Jobs: work that is done later, in the order of the queue, until it succeeds or is given up.';
comment on column loci_data.jobs.namespace_id is 'The namespace.';
comment on column loci_data.jobs.id is 'Identifier (UUID version 7).';
comment on column loci_data.jobs.kind is 'What is to be done: dream, enrich, contradictions, tune or project.';
comment on column loci_data.jobs.key is
    'Jobs with the same key ask for the same; while one waits for its first try, another is not made.';
comment on column loci_data.jobs.turn is
    'Jobs of a namespace with the same turn run one after the other; null: side by side with any.';
comment on column loci_data.jobs.arguments is 'What it is about: ids and switches, no text.';
comment on column loci_data.jobs.state is
    'waiting, running, succeeded, dead (given up after its tries), cancelled, or skipped (the namespace was busy each '
    'time).';
comment on column loci_data.jobs.tries is 'How often it was begun.';
comment on column loci_data.jobs.failures is
    'How often it failed or its worker was lost, since it was made or last retried by hand.';
comment on column loci_data.jobs.postponed is
    'How often it was put off, because the namespace was busy or its budget spent, since then.';
comment on column loci_data.jobs.agent_id is 'Who asked for it; null: a schedule.';
comment on column loci_data.jobs.created_at is 'When it was asked for.';
comment on column loci_data.jobs.due_at is 'Not before then; null: at once.';
comment on column loci_data.jobs.started_at is 'When it was last begun.';
comment on column loci_data.jobs.finished_at is 'When it ended for good; null: it waits or runs.';
comment on column loci_data.jobs.error is 'Why it last failed, or was put off.';
comment on column loci_data.jobs.result is 'What it did.';
comment on column loci_data.jobs.turns_read is
    'Turns of the conversation log that it learns from; they leave the log when it succeeds or dies.';
comment on column loci_data.jobs.queue_id is
    'Its number in the queue (loci_jobs.procrastinate_jobs), which has it until the job is over.';
comment on table loci_data.schedules is
    'When jobs that a namespace wants regularly are due next (settings such as dream_schedule).';
comment on column loci_data.schedules.namespace_id is 'The namespace.';
comment on column loci_data.schedules.kind is 'Kind of job.';
comment on column loci_data.schedules.cron is 'The rule, in cron''s five fields, UTC, that due_at was reckoned from.';
comment on column loci_data.schedules.due_at is 'When the next job is made.';
comment on table loci_data.pass_runs is
    'Reports of passes that use a model: what was seen, proposed, refused and by which guard, and applied. '
    'One operation each.';
comment on column loci_data.pass_runs.namespace_id is 'The namespace.';
comment on column loci_data.pass_runs.id is 'Identifier (UUID version 7).';
comment on column loci_data.pass_runs.job_id is 'The job that it was part of.';
comment on column loci_data.pass_runs.pass is 'memories, entities, preferences, graph, contradictions or enrichment.';
comment on column loci_data.pass_runs.outcome is
    'applied; unchanged (the same as last time, or nothing to look at: no model was asked); planned (dry run); '
    'stopped (it would have removed too much); failed (the model''s answer could not be used).';
comment on column loci_data.pass_runs.operation_id is
    'The operation that its changes are, to list or undo; null: it changed nothing.';
comment on column loci_data.pass_runs.started_at is 'When it began.';
comment on column loci_data.pass_runs.finished_at is 'When it ended.';
comment on column loci_data.pass_runs.seen is 'How many things the model was shown.';
comment on column loci_data.pass_runs.proposed is 'How many changes the model proposed.';
comment on column loci_data.pass_runs.applied is 'How many of them were made (planned: would be).';
comment on column loci_data.pass_runs.refused is 'What was not, as [{guard, action, ids, reason}].';
comment on column loci_data.pass_runs.changes is 'What was, as [{action, ids}].';
comment on column loci_data.pass_runs.corpus is
    'Hash of what the pass would see now; while it stays the same, the next one asks no model.';
comment on column loci_data.pass_runs.error is 'Why it stopped or failed.';
comment on table loci_data.episodes_read is
    'Episodes that a job has learned entities from, or is about to; each is looked at once, unless that job was '
    'cancelled.';
comment on column loci_data.episodes_read.namespace_id is 'The namespace.';
comment on column loci_data.episodes_read.memory_id is 'The memory.';
comment on column loci_data.episodes_read.job_id is 'The job that looks at it.';
comment on table loci_data.model_calls is
    'Calls of a language model: tokens, cost and time. Written before the call with what it may use, so that the '
    'budget of a day holds for calls side by side.';
comment on column loci_data.model_calls.namespace_id is 'The namespace.';
comment on column loci_data.model_calls.id is 'Identifier (UUID version 7).';
comment on column loci_data.model_calls.job_id is 'The job that made it; null: a request did.';
comment on column loci_data.model_calls.purpose is
    'What for: memories, entities, preferences, graph, contradictions, enrichment, retain or reflect.';
comment on column loci_data.model_calls.model is 'Name of the model.';
comment on column loci_data.model_calls.state is
    'running, succeeded or failed (also: whoever made it was lost meanwhile, and nobody knows how it ended).';
comment on column loci_data.model_calls.started_at is 'When.';
comment on column loci_data.model_calls.took_ms is
    'Milliseconds until the whole answer was there, or it failed; null: it runs.';
comment on column loci_data.model_calls.prompt_tokens is 'Tokens that were sent, with those of tries that broke off.';
comment on column loci_data.model_calls.completion_tokens is
    'Tokens that came back, with those of tries that broke off; while it runs, as many as may.';
comment on column loci_data.model_calls.estimated is
    'Whether the tokens are reckoned, from characters or from what such calls usually take, because nobody counted.';
comment on column loci_data.model_calls.cost is 'By the prices in the service''s settings; 0 without prices.';
comment on column loci_data.model_calls.error is 'Why it failed; no text of a prompt or an answer.';
comment on column loci_data.model_calls.usual_tokens is
    'Tokens that such an answer usually has: what counts where nobody knows how the call ended.';
comment on column loci_data.model_calls.usual_cost is 'What the call costs with so many.';
comment on column loci_data.model_calls.ends_by is
    'When it has ended at the latest: if nobody has said how by then, whoever made it was lost.';
comment on table loci_data.feedback_signals is
    'What people and tools said about the agent''s work: corrections, failures, praise. Consolidation reads the '
    'newest.';
comment on column loci_data.feedback_signals.namespace_id is 'The namespace.';
comment on column loci_data.feedback_signals.id is 'Identifier (UUID version 7).';
comment on column loci_data.feedback_signals.kind is 'correction, tool_failure, praise, complaint or note.';
comment on column loci_data.feedback_signals.content is 'What was said.';
comment on column loci_data.feedback_signals.session_id is 'The conversation; null: none.';
comment on column loci_data.feedback_signals.memory_id is 'The memory that it is about; null: none.';
comment on column loci_data.feedback_signals.agent_id is 'Who noted it.';
comment on column loci_data.feedback_signals.at is 'When.';
