-- How much does each readable namespace hold? Counts over the tables, under the policies.
create or replace view loci.namespace_stats with (security_invoker = true) as
select n.name as namespace,
       (select count(*) from loci_data.memories m where m.namespace_id = n.id) as memories,
       (select count(*) from loci_data.memories m where m.namespace_id = n.id and m.status = 'active' and m.valid_from <= statement_timestamp()
          and (m.valid_to is null or m.valid_to > statement_timestamp())) as current_memories,
       (select count(*) from loci_data.entities e where e.namespace_id = n.id and e.merged_into is null) as entities,
       (select count(*) from loci_data.edges e where e.namespace_id = n.id and e.superseded_at is null) as edges,
       (select count(*) from loci_data.embedding_queue q where q.namespace_id = n.id and q.error is null)
           + (select count(*) from loci_data.entity_queue q where q.namespace_id = n.id and q.error is null) as pending_embeddings,
       (select count(*) from loci_data.name_queue q where q.namespace_id = n.id) as pending_names
from loci_data.namespaces n;
comment on view loci.namespace_stats is 'Counts of each readable namespace.';
comment on column loci.namespace_stats.namespace is 'Name of the namespace.';
comment on column loci.namespace_stats.memories is 'Versions of memories, forgotten ones included.';
comment on column loci.namespace_stats.current_memories is 'Memories active and valid now.';
comment on column loci.namespace_stats.entities is 'Entities, merged ones aside.';
comment on column loci.namespace_stats.edges is 'Edges believed, faded ones included.';
comment on column loci.namespace_stats.pending_embeddings is 'Memories and entities that wait for a vector.';
comment on column loci.namespace_stats.pending_names is 'Memories that wait to be read for names.';
