-- Who changed what, one row an operation. changes counts what has its position in the feed, which it has moments after the commit.
-- Under the policies: rows of granted namespaces only.
create or replace view loci.operations with (security_invoker = true) as
select n.name as namespace, o.id, o.action, o.via, o.agent_id, o.key_id, o.request_id, o.started_at, o.undoes, o.undone_by,
       (select coalesce(jsonb_object_agg(c.kind || '.' || c.action, c.count), '{}') from loci_data.operation_counts c
        where c.namespace_id = o.namespace_id and c.operation_id = o.id) as changes
from loci_data.operations o join loci_data.namespaces n on n.id = o.namespace_id;
comment on view loci.operations is 'The operations log: one row a call that changed something.';
comment on column loci.operations.namespace is 'Name of the namespace.';
comment on column loci.operations.id is 'Identifier; orders by time.';
comment on column loci.operations.action is 'What was called: the name of a REST operation such as write_memory, the words of a command, or a step of the worker.';
comment on column loci.operations.via is 'rest, mcp, cli, worker or sql.';
comment on column loci.operations.agent_id is 'Who did it.';
comment on column loci.operations.key_id is 'With which API key; null: without one.';
comment on column loci.operations.request_id is 'Id of the HTTP request, as logs have it.';
comment on column loci.operations.started_at is 'When it began to write.';
comment on column loci.operations.undoes is 'The operation that this one took back.';
comment on column loci.operations.undone_by is 'The operation that took this one back.';
comment on column loci.operations.changes is 'How many changes it made, such as {"memory.created": 2}.';
