-- Non-negotiable rules that hold now, with the entity that each is about. Under the policies: rows of granted namespaces only.
create or replace view loci.constraints with (security_invoker = true) as
select n.name as namespace, t.id, e.name as entity, a.name as aspect, t.content, t.importance, t.confidence, t.memory_id, t.valid_from,
       t.valid_to, t.recorded_at, e.id as entity_id, a.id as aspect_id
from loci_data.attributes t
join loci_data.namespaces n on n.id = t.namespace_id
join loci_data.aspects a on a.namespace_id = t.namespace_id and a.id = t.aspect_id
join loci_data.entities e on e.namespace_id = a.namespace_id and e.id = a.entity_id and e.merged_into is null
where t.kind = 'constraint' and t.status = 'active' and t.valid_from <= statement_timestamp()
  and (t.valid_to is null or t.valid_to > statement_timestamp());
comment on view loci.constraints is 'Constraints that are active and valid now, with their entity and aspect.';
comment on column loci.constraints.namespace is 'Name of the namespace.';
comment on column loci.constraints.id is 'Identifier of the attribute.';
comment on column loci.constraints.entity is 'Name of the entity it is about.';
comment on column loci.constraints.aspect is 'Name of the aspect it stands under.';
comment on column loci.constraints.content is 'The rule.';
comment on column loci.constraints.importance is '0 to 1.';
comment on column loci.constraints.confidence is '0 to 1.';
comment on column loci.constraints.memory_id is 'The memory it rests on.';
comment on column loci.constraints.valid_from is 'Valid time: from when.';
comment on column loci.constraints.valid_to is 'Valid time: until when; null: still.';
comment on column loci.constraints.recorded_at is 'Recorded time: when it was written.';
comment on column loci.constraints.entity_id is 'Identifier of the entity.';
comment on column loci.constraints.aspect_id is 'Identifier of the aspect.';
