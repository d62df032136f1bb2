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
