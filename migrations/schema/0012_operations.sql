-- Who changed what: operations, what each of them changed, and the order in which readers see it.

create table loci_data.operations (
    namespace_id integer not null references loci_data.namespaces on delete cascade,
    id           uuid not null,
    action       text not null,
    via          text not null,
    agent_id     uuid,
    key_id       uuid,
    request_id   text,
    started_at   timestamptz not null,
    undoes       uuid,
    undone_by    uuid,
    primary key (namespace_id, id),
    constraint operations_action_check check (length(action) between 1 and 128),
    constraint operations_via_check check (via in ('rest', 'mcp', 'cli', 'worker', 'sql')),
    constraint operations_request_id_check check (length(request_id) <= 128)
);
create index operations_started on loci_data.operations (namespace_id, started_at) include (id);
create index operations_agent on loci_data.operations (namespace_id, agent_id, started_at) include (id);
create index operations_action on loci_data.operations (namespace_id, action, started_at) include (id);

create table loci_data.operation_counts (
    namespace_id integer not null,
    operation_id uuid not null,
    kind         text not null,
    action       text not null,
    count        bigint not null,
    primary key (namespace_id, operation_id, kind, action),
    constraint operation_counts_operation_fkey foreign key (namespace_id, operation_id)
        references loci_data.operations (namespace_id, id) on delete cascade
);

-- Changes as they are written, by whatever transaction; ids grow with the locks that writers hold. Rows wait here for
-- their position.
-- No foreign key, here and in changes: its check would cost each change as much as writing it. A trigger deletes them
-- with their namespace.
create table loci_data.outbox (
    namespace_id integer not null,
    id           bigint generated always as identity,
    operation_id uuid not null,
    kind         text not null,
    action       text not null,
    subject_id   uuid,
    before       jsonb,
    after        jsonb,
    changed_at   timestamptz not null default clock_timestamp(),
    primary key (namespace_id, id)
);
create index outbox_id on loci_data.outbox (id);
alter table loci_data.outbox
    set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- The feed: the same rows in the order that every reader sees. Each namespace counts its own positions, so that they
-- tell nothing of others; place is the order over all namespaces, which nobody is shown.
create table loci_data.changes (
    namespace_id integer not null,
    position     bigint not null,
    place        bigint not null,
    operation_id uuid not null,
    kind         text not null,
    action       text not null,
    subject_id   uuid,
    before       jsonb,
    after        jsonb,
    changed_at   timestamptz not null,
    primary key (namespace_id, position)
);
create index changes_operation on loci_data.changes (namespace_id, operation_id, position);
create index changes_subject on loci_data.changes (namespace_id, subject_id, position) where subject_id is not null;
create unique index changes_place on loci_data.changes (namespace_id, place);
create index changes_kind on loci_data.changes (namespace_id, kind, place);
create sequence loci_data.change_places;

-- How far the feed of each namespace reaches, and from where on it is kept. Its row is the lock of what waits for a
-- position there (loci_internal.lock_background_work). Columns that the sequencer changes are in no index.
create table loci_data.feeds (
    namespace_id   integer primary key references loci_data.namespaces on delete cascade,
    token          text not null default left(replace(gen_random_uuid()::text, '-', ''), 12),
    last_position  bigint not null default 0,
    last_place     bigint not null default 0,
    swept_position bigint not null default 0,
    swept_place    bigint not null default 0,
    constraint feeds_token_check check (token ~ '^[0-9a-f]{12}$')
) with (fillfactor = 50);
create unique index feeds_token on loci_data.feeds (token);
insert into loci_data.feeds (namespace_id) select n.id from loci_data.namespaces n;
-- No statistics of namespaces: one that is newer than they are would be taken for empty, and any index on it for as
-- good as the right one.
-- Without them each is taken for a two-hundredth of the table.
alter table loci_data.operations alter column namespace_id set statistics 0;
alter table loci_data.changes alter column namespace_id set statistics 0;


comment on table loci_data.operations is
    'One row a mutating call in a namespace: who, through what, when. Written by triggers with the first change; what '
    'changed is in changes.';
comment on column loci_data.operations.namespace_id is 'The namespace.';
comment on column loci_data.operations.id is
    'Identifier (UUID version 7, drawn when the call began); of a call that reaches several namespaces it is the same '
    'in each.';
comment on column loci_data.operations.action is
    'What was called, such as write_memory; unknown for statements in SQL that do not say.';
comment on column loci_data.operations.via is 'rest, mcp, cli, worker (background work) or sql.';
comment on column loci_data.operations.agent_id is 'The agent that did it; null: somebody with rights of the owner.';
comment on column loci_data.operations.key_id is 'The API key that it was done with; null: none.';
comment on column loci_data.operations.request_id is 'Id of the HTTP request (X-Request-Id), as logs have it.';
comment on column loci_data.operations.started_at is
    'When its first change was written; with the id the order of the log.';
comment on column loci_data.operations.undoes is 'The operation that this one took back.';
comment on column loci_data.operations.undone_by is 'The operation that took this one back; null: it is in force.';
comment on table loci_data.operation_counts is
    'How many changes an operation made, by kind and action; complete once they have their position.';
comment on column loci_data.operation_counts.namespace_id is 'The namespace.';
comment on column loci_data.operation_counts.operation_id is 'The operation.';
comment on column loci_data.operation_counts.kind is 'Kind of thing, as in changes.';
comment on column loci_data.operation_counts.action is 'created, changed or erased.';
comment on column loci_data.operation_counts.count is 'How many.';
comment on table loci_data.outbox is
    'Changes that have no position in the feed yet. loci_api.sequence_changes moves them on, moments after their '
    'commit.';
comment on column loci_data.outbox.namespace_id is 'The namespace.';
comment on column loci_data.outbox.id is
    'Order of writing: of two changes of which one waited for the other, the later has the larger.';
comment on column loci_data.outbox.operation_id is 'The operation.';
comment on column loci_data.outbox.kind is 'Kind of thing, as in changes.';
comment on column loci_data.outbox.action is 'created, changed or erased.';
comment on column loci_data.outbox.subject_id is 'Id of the thing.';
comment on column loci_data.outbox.before is 'As in changes.';
comment on column loci_data.outbox.after is 'As in changes.';
comment on column loci_data.outbox.changed_at is 'When it was written.';
comment on table loci_data.changes is
    'The change feed: every committed change once, in an order that never changes and in which no change stands '
    'before one that it rests on.';
comment on column loci_data.changes.namespace_id is 'The namespace.';
comment on column loci_data.changes.position is
    'Number of the change in the feed of its namespace, from 1 on. A reader that has seen a position has seen all '
    'below it.';
comment on column loci_data.changes.place is
    'Order in the feed over all namespaces; grows, with gaps. No one is shown it, because it counts what others do.';
comment on column loci_data.changes.operation_id is 'The operation that made the change.';
comment on column loci_data.changes.kind is
    'memory, placement, link, entity, edge, aspect, attribute, supersession, merge, edge_type, turn, namespace, key, '
    'grant or working_memory.';
comment on column loci_data.changes.action is 'created, changed or erased (deleted for good).';
comment on column loci_data.changes.subject_id is
    'Id of the thing; of a placement the lineage''s node, of a link its source, of a grant the agent; null for kinds '
    'without one, whose key is in before and after.';
comment on column loci_data.changes.before is
    'Changed fields as they were; null for what is new, and once it was erased; of links and places that are erased '
    'the other end.';
comment on column loci_data.changes.after is
    'Changed fields as they are since; of something new all fields but a memory''s content, and a turn''s content and '
    'metadata, which stand with it; null once it was erased.';
comment on column loci_data.changes.changed_at is 'When it was written, by the clock of the server.';
comment on table loci_data.feeds is
    'How far the change feed of each namespace reaches, and from where on it is kept.';
comment on column loci_data.feeds.namespace_id is 'The namespace.';
comment on column loci_data.feeds.token is 'What cursors call the feed: drawn by lot, and another for each namespace.';
comment on column loci_data.feeds.last_position is 'Position of the last change; 0: there was none yet.';
comment on column loci_data.feeds.last_place is 'Its place over all namespaces.';
comment on column loci_data.feeds.swept_position is
    'Highest position that is no longer kept: readers who are not past it begin again.';
comment on column loci_data.feeds.swept_place is 'Its place over all namespaces.';
