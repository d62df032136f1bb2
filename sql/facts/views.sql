-- Views of aspects, constraints and supersessions.

-- Aspects of entities, with how much hangs under each now. Under the policies: rows of granted namespaces only.
create or replace view loci.aspects with (security_invoker = true) as
select n.name as namespace, a.id, e.name as entity, a.name, a.weight, a.single_valued, held.attributes,
       held.constraints, a.confirmed_at,
       a.created_at, a.updated_at, a.entity_id
from loci_data.aspects a
join loci_data.namespaces n on n.id = a.namespace_id
join loci_data.entities e on e.namespace_id = a.namespace_id and e.id = a.entity_id and e.merged_into is null
cross join lateral (
    select array_agg(t.content order by t.importance desc, t.id) filter (where t.kind = 'attribute') as attributes,
           array_agg(t.content order by t.importance desc, t.id) filter (where t.kind = 'constraint') as constraints
    from loci_data.attributes t
    where t.namespace_id = a.namespace_id and t.aspect_id = a.id
      and loci.holds_at(t, statement_timestamp(), null)) held;
comment on view loci.aspects is 'Aspects of entities with their active attributes and constraints.';
comment on column loci.aspects.namespace is 'Name of the namespace.';
comment on column loci.aspects.id is 'Identifier.';
comment on column loci.aspects.entity is 'Name of the entity.';
comment on column loci.aspects.name is 'Name as first written.';
comment on column loci.aspects.weight is 'Learned salience, 0 to 1.';
comment on column loci.aspects.single_valued is
    'Whether its attributes replace each other: true or false as declared; null: their words decide.';
comment on column loci.aspects.attributes is 'Facts that hold now, most important first.';
comment on column loci.aspects.constraints is 'Rules that hold now, most important first.';
comment on column loci.aspects.confirmed_at is 'When use last confirmed it.';
comment on column loci.aspects.created_at is 'When it was made.';
comment on column loci.aspects.updated_at is 'When any column last changed.';
comment on column loci.aspects.entity_id is 'Identifier of the entity. Joins entities.id.';

-- Non-negotiable rules that hold now, with the entity that each is about. Under the policies: rows of granted
-- namespaces only.
create or replace view loci.constraints with (security_invoker = true) as
select n.name as namespace, t.id, e.name as entity, a.name as aspect, t.content, t.importance, t.confidence,
       t.memory_id, t.valid_from,
       t.valid_to, t.recorded_at, e.id as entity_id, a.id as aspect_id
from loci_data.attributes t
join loci_data.namespaces n on n.id = t.namespace_id
join loci_data.aspects a on a.namespace_id = t.namespace_id and a.id = t.aspect_id
join loci_data.entities e on e.namespace_id = a.namespace_id and e.id = a.entity_id and e.merged_into is null
where t.kind = 'constraint' and loci.holds_at(t, statement_timestamp(), null);
comment on view loci.constraints is 'Constraints that hold now, with their entity and aspect.';
comment on column loci.constraints.namespace is 'Name of the namespace.';
comment on column loci.constraints.id is 'Identifier of the attribute. Joins attributes.id.';
comment on column loci.constraints.entity is 'Name of the entity it is about.';
comment on column loci.constraints.aspect is 'Name of the aspect it stands under.';
comment on column loci.constraints.content is 'The rule.';
comment on column loci.constraints.importance is '0 to 1.';
comment on column loci.constraints.confidence is '0 to 1.';
comment on column loci.constraints.memory_id is 'The memory it rests on. Joins memory_versions.id.';
comment on column loci.constraints.valid_from is 'Valid time: from when.';
comment on column loci.constraints.valid_to is 'Valid time: until when; null: still.';
comment on column loci.constraints.recorded_at is 'Recorded time: when it was written.';
comment on column loci.constraints.entity_id is 'Identifier of the entity. Joins entities.id.';
comment on column loci.constraints.aspect_id is 'Identifier of the aspect. Joins aspects.id.';

-- Supersessions in words, with their reasons. Under the policies: rows of granted namespaces only. A decision whose
-- newer fact does not hold any more is shown as dismissed, in a part of its own: so an index finds the others by
-- status.
create or replace view loci.supersessions with (security_invoker = true) as
select n.name as namespace, s.id, e.name as entity, p.name as aspect, o.content as older, w.content as newer, s.signal,
       s.confidence, s.evidence, s.status, s.origin, s.created_at, s.decided_at, s.decided_by, s.undone_at,
       e.id as entity_id, p.id as aspect_id, s.older_id, s.newer_id, s.ended_at
from loci_data.supersessions s
join loci_data.namespaces n on n.id = s.namespace_id
join loci_data.attributes o on o.namespace_id = s.namespace_id and o.id = s.older_id
join loci_data.attributes w on w.namespace_id = s.namespace_id and w.id = s.newer_id
join loci_data.aspects p on p.namespace_id = o.namespace_id and p.id = o.aspect_id
join loci_data.entities e on e.namespace_id = p.namespace_id and e.id = p.entity_id
where s.status <> 'applied' or (w.taken_back_at is not null or w.own_to = w.valid_from) is not true
union all
select n.name, s.id, e.name, p.name, o.content, w.content, s.signal, s.confidence, s.evidence, 'dismissed', s.origin,
       s.created_at, s.decided_at, s.decided_by, s.undone_at, e.id, p.id, s.older_id, s.newer_id, s.ended_at
from loci_data.supersessions s
join loci_data.namespaces n on n.id = s.namespace_id
join loci_data.attributes o on o.namespace_id = s.namespace_id and o.id = s.older_id
join loci_data.attributes w on w.namespace_id = s.namespace_id and w.id = s.newer_id
join loci_data.aspects p on p.namespace_id = o.namespace_id and p.id = o.aspect_id
join loci_data.entities e on e.namespace_id = p.namespace_id and e.id = p.entity_id
where s.status = 'applied' and (w.taken_back_at is not null or w.own_to = w.valid_from)
union all
select n.name, s.id, e.name, null, concat_ws(' ', o.type, coalesce(ot.name, o.literal)),
       concat_ws(' ', w.type, coalesce(wt.name, w.literal)), s.signal, s.confidence, s.evidence, s.status, s.origin,
       s.created_at, s.decided_at, s.decided_by, s.undone_at, e.id, null, s.older_edge_id, s.newer_edge_id, s.ended_at
from loci_data.supersessions s
join loci_data.namespaces n on n.id = s.namespace_id
join loci_data.edges o on o.namespace_id = s.namespace_id and o.id = s.older_edge_id
join loci_data.edges w on w.namespace_id = s.namespace_id and w.id = s.newer_edge_id
join loci_data.entities e on e.namespace_id = o.namespace_id and e.id = o.source_id
left join loci_data.entities ot on ot.namespace_id = o.namespace_id and ot.id = o.target_id
left join loci_data.entities wt on wt.namespace_id = w.namespace_id and wt.id = w.target_id;
comment on view loci.supersessions is
    'Decisions that one attribute supersedes a sibling, with both contents, or that one edge ended another, with types '
    'and targets.';
comment on column loci.supersessions.namespace is 'Name of the namespace.';
comment on column loci.supersessions.id is 'Identifier.';
comment on column loci.supersessions.entity is 'Name of the entity that both are about.';
comment on column loci.supersessions.aspect is 'Name of the aspect that both stand under; null: they are edges.';
comment on column loci.supersessions.older is 'The superseded fact or edge.';
comment on column loci.supersessions.newer is 'The winner.';
comment on column loci.supersessions.signal is
    'negation, antonym, value_conflict or temporal_marker; model: a language model said so; replaced: somebody gave it '
    'new content; single_valued: edges of a type that has one target at a time.';
comment on column loci.supersessions.confidence is 'Confidence of the signal, or of the model.';
comment on column loci.supersessions.evidence is 'The words that decided.';
comment on column loci.supersessions.status is
    'proposed, applied, dismissed (by somebody, or since the newer one does not hold any more) or undone.';
comment on column loci.supersessions.origin is 'inline (at a write), sweep, manual, or pass (a model was asked).';
comment on column loci.supersessions.created_at is 'When the pair was found.';
comment on column loci.supersessions.decided_at is 'When its status was last decided.';
comment on column loci.supersessions.decided_by is 'The agent that decided.';
comment on column loci.supersessions.undone_at is 'When it was undone, if it was.';
comment on column loci.supersessions.entity_id is 'Identifier of the entity. Joins entities.id.';
comment on column loci.supersessions.aspect_id is 'Identifier of the aspect; null: they are edges. Joins aspects.id.';
comment on column loci.supersessions.older_id is 'Identifier of the older attribute or edge.';
comment on column loci.supersessions.newer_id is 'Identifier of the newer attribute or edge.';
comment on column loci.supersessions.ended_at is
    'Valid time: when the older edge ended; null: they are attributes.';
