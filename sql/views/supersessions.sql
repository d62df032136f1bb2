-- What superseded what, and why, in words. Under the policies: rows of granted namespaces only.
create or replace view loci.supersessions with (security_invoker = true) as
select n.name as namespace, s.id, e.name as entity, p.name as aspect, o.content as older, w.content as newer, s.signal, s.confidence,
       s.evidence, s.status, s.origin, s.created_at, s.decided_at, s.decided_by, s.undone_at, e.id as entity_id, p.id as aspect_id,
       s.older_id, s.newer_id
from loci_data.supersessions s
join loci_data.namespaces n on n.id = s.namespace_id
join loci_data.attributes o on o.namespace_id = s.namespace_id and o.id = s.older_id
join loci_data.attributes w on w.namespace_id = s.namespace_id and w.id = s.newer_id
join loci_data.aspects p on p.namespace_id = o.namespace_id and p.id = o.aspect_id
join loci_data.entities e on e.namespace_id = p.namespace_id and e.id = p.entity_id;
comment on view loci.supersessions is 'Decisions that one attribute supersedes a sibling, with both contents.';
comment on column loci.supersessions.namespace is 'Name of the namespace.';
comment on column loci.supersessions.id is 'Identifier.';
comment on column loci.supersessions.entity is 'Name of the entity that both are about.';
comment on column loci.supersessions.aspect is 'Name of the aspect that both stand under.';
comment on column loci.supersessions.older is 'What is superseded.';
comment on column loci.supersessions.newer is 'What wins.';
comment on column loci.supersessions.signal is 'negation, antonym, value_conflict or temporal_marker; model: a language model said so.';
comment on column loci.supersessions.confidence is 'Confidence of the signal, or of the model.';
comment on column loci.supersessions.evidence is 'The words that decided.';
comment on column loci.supersessions.status is 'proposed, applied, dismissed or undone.';
comment on column loci.supersessions.origin is 'inline (at a write), sweep, manual, or pass (a model was asked).';
comment on column loci.supersessions.created_at is 'When the pair was found.';
comment on column loci.supersessions.decided_at is 'When its status was last decided.';
comment on column loci.supersessions.decided_by is 'The agent that decided.';
comment on column loci.supersessions.undone_at is 'When it was undone, if it was.';
comment on column loci.supersessions.entity_id is 'Identifier of the entity.';
comment on column loci.supersessions.aspect_id is 'Identifier of the aspect.';
comment on column loci.supersessions.older_id is 'Identifier of the older attribute.';
comment on column loci.supersessions.newer_id is 'Identifier of the newer attribute.';
