-- Aspects of entities, with how much hangs under each now. Under the policies: rows of granted namespaces only.
create or replace view loci.aspects with (security_invoker = true) as
select n.name as namespace, a.id, e.name as entity, a.name, a.weight, a.single_valued, held.attributes, held.constraints, a.confirmed_at,
       a.created_at, a.updated_at, a.entity_id
from loci_data.aspects a
join loci_data.namespaces n on n.id = a.namespace_id
join loci_data.entities e on e.namespace_id = a.namespace_id and e.id = a.entity_id and e.merged_into is null
cross join lateral (
    select array_agg(t.content order by t.importance desc, t.id) filter (where t.kind = 'attribute') as attributes,
           array_agg(t.content order by t.importance desc, t.id) filter (where t.kind = 'constraint') as constraints
    from loci_data.attributes t
    where t.namespace_id = a.namespace_id and t.aspect_id = a.id and t.status = 'active' and t.valid_from <= statement_timestamp()
      and (t.valid_to is null or t.valid_to > statement_timestamp())) held;
comment on view loci.aspects is 'Aspects of entities with their active attributes and constraints.';
comment on column loci.aspects.namespace is 'Name of the namespace.';
comment on column loci.aspects.id is 'Identifier.';
comment on column loci.aspects.entity is 'Name of the entity.';
comment on column loci.aspects.name is 'Name as first written.';
comment on column loci.aspects.weight is 'Learned salience, 0 to 1.';
comment on column loci.aspects.single_valued is 'Whether its attributes replace each other: true or false as declared; null: their words decide.';
comment on column loci.aspects.attributes is 'Facts that hold now, most important first.';
comment on column loci.aspects.constraints is 'Rules that hold now, most important first.';
comment on column loci.aspects.confirmed_at is 'When use last confirmed it.';
comment on column loci.aspects.created_at is 'When it was made.';
comment on column loci.aspects.updated_at is 'When any column last changed.';
comment on column loci.aspects.entity_id is 'Identifier of the entity.';
