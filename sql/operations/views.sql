-- Views of changes and operations.

-- The change feed, as list_changes has it, for any condition. Under the policies: rows of granted namespaces only. A
-- query for changes of one namespace after a position is a range of the primary key.
create or replace view loci.changes with (security_invoker = true) as
select n.name as namespace, c.position, c.kind, c.action, c.subject_id, c.operation_id,
       (select o.agent_id from loci_data.operations o where o.namespace_id = c.namespace_id and o.id = c.operation_id
        and o.via <> '') as agent_id,
       (select o.via from loci_data.operations o where o.namespace_id = c.namespace_id and o.id = c.operation_id)
           as via,
       case c.kind
           when 'memory' then (select m.content from loci_data.memories m where m.namespace_id = c.namespace_id
                               and m.id = c.subject_id)
           when 'turn' then (select t.content from loci_data.conversation_turns t where t.namespace_id = c.namespace_id
                             and t.session_id = coalesce(c.after, c.before) ->> 'session_id'
                             and t.id = (coalesce(c.after, c.before) ->> 'id')::bigint)
       end as content, c.before, c.after, c.changed_at,
       (select loci.agent_name(o.agent_id) from loci_data.operations o
        where o.namespace_id = c.namespace_id and o.id = c.operation_id and o.via <> '') as agent
from loci_data.changes c
join loci_data.namespaces n on n.id = c.namespace_id;
comment on view loci.changes is
    'The change feed: every committed change once, in the order of the positions of its namespace.';
comment on column loci.changes.namespace is 'Name of the namespace.';
comment on column loci.changes.position is
    'Number in the feed of its namespace, from 1 on. A reader goes on after the last one that it has read.';
comment on column loci.changes.kind is
    'memory, placement, link, entity, edge, aspect, attribute, supersession, merge, edge_type, turn, namespace, key, '
    'grant, invitation or working_memory.';
comment on column loci.changes.action is 'created, changed or erased (deleted for good).';
comment on column loci.changes.subject_id is
    'Id of the thing; of a placement the lineage''s node, of a link its source, of a grant the agent; null for kinds '
    'without one, whose key is in before and after.';
comment on column loci.changes.operation_id is 'The operation that made the change. Joins operations.id.';
comment on column loci.changes.agent_id is 'Agent that made it; null: somebody with rights of the owner.';
comment on column loci.changes.via is 'rest, mcp, cli, worker (background work) or sql.';
comment on column loci.changes.content is
    'Text of the memory or the turn; null for other kinds, and once it was erased.';
comment on column loci.changes.before is 'Changed fields as they were; null for what is new, and once it was erased.';
comment on column loci.changes.after is
    'Changed fields as they are since, of something new all but its text; null once it was erased.';
comment on column loci.changes.changed_at is
    'When it was written, by the clock of the server. Not the order of the feed.';
comment on column loci.changes.agent is 'Name of that agent.';

-- Operations, one row each. changes counts what has its position in the feed, which it has moments after
-- the commit. Under the policies: rows of granted namespaces only.
create or replace view loci.operations with (security_invoker = true) as
select n.name as namespace, o.id, o.action, o.via, o.agent_id, o.key_id, o.request_id, o.started_at, o.undoes,
       o.undone_by,
       (select coalesce(jsonb_object_agg(c.kind || '.' || c.action, c.count), '{}') from loci_data.operation_counts c
        where c.namespace_id = o.namespace_id and c.operation_id = o.id) as changes,
       loci.agent_name(o.agent_id) as agent,
       (select coalesce(sum(c.count), 0)::bigint from loci_data.operation_counts c
        where c.namespace_id = o.namespace_id and c.operation_id = o.id) as change_count
from loci_data.operations o join loci_data.namespaces n on n.id = o.namespace_id;
comment on view loci.operations is 'The operations log: one row a call that changed something.';
comment on column loci.operations.namespace is 'Name of the namespace.';
comment on column loci.operations.id is 'Identifier.';
comment on column loci.operations.action is
    'Name of the call: a REST operation such as write_memory, the words of a command, or a step of the worker.';
comment on column loci.operations.via is 'rest, mcp, cli, worker or sql.';
comment on column loci.operations.agent_id is 'Agent that did it.';
comment on column loci.operations.key_id is 'With which API key; null: without one.';
comment on column loci.operations.request_id is 'Id of the HTTP request, as logs have it.';
comment on column loci.operations.started_at is 'When it began to write; with the id the order of the log.';
comment on column loci.operations.undoes is 'The operation that this one took back. Joins operations.id.';
comment on column loci.operations.undone_by is 'The operation that took this one back. Joins operations.id.';
comment on column loci.operations.changes is 'How many changes it made, such as {"memory.created": 2}.';
comment on column loci.operations.change_count is 'How many changes it made, of all kinds.';
comment on column loci.operations.agent is 'Name of that agent.';
