-- View of the size of namespaces.

-- How much does each readable namespace hold? Counts over the tables, under the policies: the range of the namespace in
-- one index of each, about 0.5 µs a row (100,000 memories, as many entities, 200,000 edges: 60 ms). Restrict it to a
-- namespace.
create or replace view loci.namespace_stats with (security_invoker = true) as
select n.name as namespace,
       m.memories,
       m.current_memories,
       (select count(*) from loci_data.entities e where e.namespace_id = n.id and e.merged_into is null)
           - (select count(*) from loci_data.entities e where e.namespace_id = n.id and e.hidden
              and e.merged_into is null) as entities,
       (select count(*) from loci_data.edges e where e.namespace_id = n.id and e.superseded_at is null)
           - (select count(*) from loci_data.edges e where e.namespace_id = n.id and e.superseded_at is null
              and e.valid_to = e.valid_from) as edges,
       (select count(*) from loci_data.embedding_queue q where q.model_id = a.id and q.namespace_id = n.id
        and q.error is null)
           + (select count(*) from loci_data.entity_queue q where q.model_id = a.id and q.namespace_id = n.id
              and q.error is null) as pending_embeddings,
       (select count(*) from loci_data.name_queue q where q.namespace_id = n.id) as pending_names,
       coalesce((n.settings ->> 'recall_log')::boolean,
                (loci.default_settings() ->> 'recall_log')::boolean) as logs_recalls
from loci_data.namespaces n
cross join lateral (
    select count(*) as memories,
           count(*) filter (where loci.holds_at(v, statement_timestamp(), null)) as current_memories
    from loci_data.memories v where v.namespace_id = n.id) m
left join loci_data.embedding_models a on a.active;
comment on view loci.namespace_stats is 'Counts of each readable namespace.';
comment on column loci.namespace_stats.namespace is 'Name of the namespace.';
comment on column loci.namespace_stats.memories is 'Versions of memories, forgotten ones included.';
comment on column loci.namespace_stats.current_memories is 'Memories active and valid now.';
comment on column loci.namespace_stats.entities is
    'Entities; merged, removed and hidden ones aside.';
comment on column loci.namespace_stats.edges is
    'Edges believed, those that have faded or ended included; those that hold at no moment are not.';
comment on column loci.namespace_stats.pending_embeddings is
    'Memories and entities that wait for a vector of the active model.';
comment on column loci.namespace_stats.pending_names is 'Memories that wait to be read for names.';
comment on column loci.namespace_stats.logs_recalls is
    'Whether recalls are logged (setting recall_log). Where they are not, recalls, recall_log and what rests on them '
    'have no rows.';
