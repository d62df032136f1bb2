-- Pairs of memories of which one may outdate the other, and nobody has said which holds: links of type contradicts
-- whose ends both have a current memory. Under the policies: rows of granted namespaces only. Index memory_links_open.
create or replace view loci.unsettled_memories with (security_invoker = true) as
select n.name as namespace, w.id as newer_id, w.content as newer, w.valid_from as newer_valid_from,
       w.category collate "C" as newer_category, w.source as newer_source,
       o.id as older_id, o.content as older, o.valid_from as older_valid_from,
       o.category collate "C" as older_category, o.source as older_source,
       l.strength as similarity, l.recorded_at as noticed_at
from loci_data.memory_links l
join loci_data.namespaces n on n.id = l.namespace_id
join loci_data.memories w on w.namespace_id = l.namespace_id and w.lineage_id = l.source_id
    and loci.holds_at(w, statement_timestamp(), null)
join loci_data.memories o on o.namespace_id = l.namespace_id and o.lineage_id = l.target_id
    and loci.holds_at(o, statement_timestamp(), null)
where l.type = 'contradicts' and l.superseded_at is null;
comment on view loci.unsettled_memories is
    'Pairs of current memories of which the newer one may outdate the older one, until somebody says which holds '
    '(settle).';
comment on column loci.unsettled_memories.namespace is 'Name of the namespace.';
comment on column loci.unsettled_memories.newer_id is
    'Identifier of the memory that was told later. Joins current_memories.id.';
comment on column loci.unsettled_memories.newer is 'Content of the newer memory.';
comment on column loci.unsettled_memories.newer_valid_from is 'Valid time: since when it is true.';
comment on column loci.unsettled_memories.newer_category is 'Slash-separated path.';
comment on column loci.unsettled_memories.newer_source is 'Speaker of the newer memory; null: nobody was named.';
comment on column loci.unsettled_memories.older_id is
    'Identifier of the memory that it may outdate. Joins current_memories.id.';
comment on column loci.unsettled_memories.older is 'Content of the older memory.';
comment on column loci.unsettled_memories.older_valid_from is 'Valid time: since when that is true.';
comment on column loci.unsettled_memories.older_category is 'Slash-separated path.';
comment on column loci.unsettled_memories.older_source is 'Speaker of the older memory; null: nobody was named.';
comment on column loci.unsettled_memories.similarity is 'How near both are by meaning, or how sure a rule is; 0 to 1.';
comment on column loci.unsettled_memories.noticed_at is 'Recorded time: since when the pair is open.';
