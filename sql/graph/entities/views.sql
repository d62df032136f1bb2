-- Views of entities and mentions.

-- Entities of the graph. Under the policies: rows of granted namespaces only.
create or replace view loci.entities with (security_invoker = true) as
select n.name as namespace, e.id, e.name, e.canonical_name, e.type, e.aliases, e.description, e.confidence, e.mentions,
       e.observations,
       e.pinned, e.pinned_at, e.metadata, e.first_seen_at, e.created_at, e.updated_at, e.last_referenced_at
from loci_data.entities e join loci_data.namespaces n on n.id = e.namespace_id
where e.merged_into is null and not e.hidden;
comment on view loci.entities is
    'Named things, one row a canonical name; merged and removed ones, and those that forgotten memories alone show, '
    'are left out.';
comment on column loci.entities.namespace is 'Name of the namespace.';
comment on column loci.entities.id is 'Identifier.';
comment on column loci.entities.name is 'Name as first written.';
comment on column loci.entities.canonical_name is 'Lower-cased, white space folded.';
comment on column loci.entities.type is 'person, project, tool, …; extracted: found in texts without a model.';
comment on column loci.entities.aliases is 'Other names.';
comment on column loci.entities.description is 'Free text.';
comment on column loci.entities.confidence is '0 to 1, reinforced by observation.';
comment on column loci.entities.mentions is 'Number of memories that mention it.';
comment on column loci.entities.observations is 'How often it was written or extracted.';
comment on column loci.entities.pinned is 'Always focal.';
comment on column loci.entities.pinned_at is 'When it was pinned.';
comment on column loci.entities.metadata is 'Any JSON object.';
comment on column loci.entities.first_seen_at is 'The earliest moment that anything said about it dates from.';
comment on column loci.entities.created_at is 'When it was first written.';
comment on column loci.entities.updated_at is 'When any column last changed.';
comment on column loci.entities.last_referenced_at is 'When a text last matched it.';

-- Which memory names which entity: both with their texts. By entity an index (memory_mentions_entity), by memory the
-- primary key, by time the memories' (memories_recorded). Under the policies: rows of granted namespaces only.
create or replace view loci.mentions with (security_invoker = true) as
select n.name as namespace, e.name as entity, e.type as entity_type, m.lineage, m.content as memory,
       nullif(x.mention_text, '') as mention, m.recorded_at,
       loci.holds_at(m, statement_timestamp(), null) as current,
       x.memory_id, x.entity_id, x.confidence
from loci_data.memory_mentions x
join loci_data.namespaces n on n.id = x.namespace_id
join loci_data.memories m on m.namespace_id = x.namespace_id and m.id = x.memory_id
join loci_data.entities e on e.namespace_id = x.namespace_id and e.id = x.entity_id and e.merged_into is null
     and not e.hidden;
comment on view loci.mentions is
    'Which memory names which entity: one row a pair, of every version of a memory, forgotten ones too.';
comment on column loci.mentions.namespace is 'Name of the namespace.';
comment on column loci.mentions.entity is 'Name of the entity.';
comment on column loci.mentions.entity_type is 'person, project, tool, …; extracted: found in texts without a model.';
comment on column loci.mentions.lineage is 'Name that groups the versions of the memory.';
comment on column loci.mentions.memory is 'Content of the memory.';
comment on column loci.mentions.mention is 'The name as it stood there; null: it was not said.';
comment on column loci.mentions.recorded_at is 'Recorded time: when the memory was written.';
comment on column loci.mentions.current is 'Whether the memory is active and valid now.';
comment on column loci.mentions.memory_id is 'The memory: this version. Joins memory_versions.id.';
comment on column loci.mentions.entity_id is 'The entity. Joins entities.id.';
comment on column loci.mentions.confidence is 'How sure the mention is, 0 to 1.';
