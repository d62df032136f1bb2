-- Facts and rules about entities, one row each, with those that were superseded, and the memory that each rests on. By
-- entity and by memory an index. Under the policies: rows of granted namespaces only.
create or replace view loci.attributes with (security_invoker = true) as
select n.name as namespace, t.id, e.name as entity, a.name as aspect, t.kind, t.content, t.status, t.importance,
       t.confidence,
       loci.holds_at(t, statement_timestamp(), null) as current,
       t.valid_from, t.valid_to, t.recorded_at, t.superseded_at, t.superseded_by, t.memory_id, m.content as memory,
       e.id as entity_id, a.id as aspect_id
from loci_data.attributes t
join loci_data.namespaces n on n.id = t.namespace_id
join loci_data.aspects a on a.namespace_id = t.namespace_id and a.id = t.aspect_id
join loci_data.entities e on e.namespace_id = a.namespace_id and e.id = a.entity_id and e.merged_into is null
left join loci_data.memories m on m.namespace_id = t.namespace_id and m.id = t.memory_id;
comment on view loci.attributes is
    'Facts and rules about entities, one row each, superseded ones too. current: it holds now.';
comment on column loci.attributes.namespace is 'Name of the namespace.';
comment on column loci.attributes.id is 'Identifier.';
comment on column loci.attributes.entity is 'Name of the entity it is about.';
comment on column loci.attributes.aspect is 'Name of the aspect it stands under.';
comment on column loci.attributes.kind is 'attribute (a fact), or constraint (a rule).';
comment on column loci.attributes.content is 'The fact or rule.';
comment on column loci.attributes.status is 'active, superseded or deleted.';
comment on column loci.attributes.importance is '0 to 1.';
comment on column loci.attributes.confidence is '0 to 1.';
comment on column loci.attributes.current is 'Whether it holds now: not deleted, and valid.';
comment on column loci.attributes.valid_from is 'Valid time: from when.';
comment on column loci.attributes.valid_to is 'Valid time: until when (exclusive); null: still.';
comment on column loci.attributes.recorded_at is 'Recorded time: when it was written.';
comment on column loci.attributes.superseded_at is 'Recorded time: when it was replaced or deleted; null: it was not.';
comment on column loci.attributes.superseded_by is 'The one that replaced it; null: none. Joins attributes.id.';
comment on column loci.attributes.memory_id is 'The memory that it rests on; null: none. Joins memory_versions.id.';
comment on column loci.attributes.memory is 'Content of that memory.';
comment on column loci.attributes.entity_id is 'Identifier of the entity. Joins entities.id.';
comment on column loci.attributes.aspect_id is 'Identifier of the aspect. Joins aspects.id.';
