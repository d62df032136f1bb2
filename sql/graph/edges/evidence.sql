-- Evidence of edges: each observation, with the edge, the memory and the agent. Copies of it that stand at edges which
-- a merge has closed are left out. Indexes edge_observations_edge, _memory, _operation, _observed. Its agent is looked
-- up in operations row by row, by the primary key: as a join it would be planned without statistics of the namespace,
-- and without via <> '', which is always true, over the whole index operations_agent, which has all that is asked.
-- Under the policies: rows of granted namespaces only.
create or replace view loci.evidence with (security_invoker = true) as
select n.name as namespace, o.id, o.edge_id, s.name as source, e.type, t.name as target, e.literal, o.confidence,
       o.observed_at, o.session_id, o.memory_id, m.content as memory, o.valid_from, o.valid_to, o.recorded_at,
       coalesce(not o.withdrawn @> statement_timestamp(), true) as counts, o.reinforcement, o.operation_id,
       (select p.agent_id from loci_data.operations p where p.namespace_id = o.namespace_id and p.id = o.operation_id
        and p.via <> '') as agent_id,
       (select loci.agent_name(p.agent_id) from loci_data.operations p
        where p.namespace_id = o.namespace_id and p.id = o.operation_id and p.via <> '') as agent,
       e.source_id, e.target_id
from loci_data.edge_observations o
join loci_data.namespaces n on n.id = o.namespace_id
join loci_data.edges e on e.namespace_id = o.namespace_id and e.id = o.edge_id and e.superseded_at is null
join loci_data.entities s on s.namespace_id = e.namespace_id and s.id = e.source_id
left join loci_data.entities t on t.namespace_id = e.namespace_id and t.id = e.target_id
left join loci_data.memories m on m.namespace_id = o.namespace_id and m.id = o.memory_id;
comment on view loci.evidence is
    'Evidence of edges: one row each time that somebody said so. Also of edges that have faded or ended.';
comment on column loci.evidence.namespace is 'Name of the namespace.';
comment on column loci.evidence.id is 'Identifier.';
comment on column loci.evidence.edge_id is 'The edge; those that live are in edges. Joins edges.id.';
comment on column loci.evidence.source is 'Name of the entity that the edge starts from.';
comment on column loci.evidence.type is 'The predicate, such as works_on.';
comment on column loci.evidence.target is 'Name of the entity it points to; null when the target is a literal.';
comment on column loci.evidence.literal is 'A literal target.';
comment on column loci.evidence.confidence is
    'The confidence that was stated, 0 to 1; null: a correction that leaves it. That of now is in edges.';
comment on column loci.evidence.observed_at is 'When it was said; it may speak of other times.';
comment on column loci.evidence.session_id is 'The conversation that showed it; null: none.';
comment on column loci.evidence.memory_id is 'The memory that showed it; null: none. Joins memory_versions.id.';
comment on column loci.evidence.memory is 'Its content.';
comment on column loci.evidence.valid_from is 'Valid time: from when the edge holds, as stated; null: not stated.';
comment on column loci.evidence.valid_to is 'Valid time: until when, as stated; null: not stated.';
comment on column loci.evidence.recorded_at is 'Recorded time: when it was written.';
comment on column loci.evidence.counts is 'Whether it counts now; false: its memory was forgotten.';
comment on column loci.evidence.reinforcement is
    'Effect on confidence in a new conversation: full, initial or running_average; corrected: a correction, which '
    'counts as no observation.';
comment on column loci.evidence.operation_id is
    'The operation that observed it; null: not known any more. Joins operations.id.';
comment on column loci.evidence.agent_id is 'Agent that observed it; null: not known any more.';
comment on column loci.evidence.agent is 'Name of that agent.';
comment on column loci.evidence.source_id is 'Identifier of the source. Joins entities.id.';
comment on column loci.evidence.target_id is 'Identifier of the target. Joins entities.id.';
