-- View of the hierarchy.

-- Memories under memories, at any depth: the closure with both ends' present content. Under the policies.
create or replace view loci.hierarchy with (security_invoker = true) as
select n.name as namespace, c.depth, a.id as ancestor_id, a.content as ancestor, d.id as descendant_id,
       d.content as descendant
from loci_data.memory_closure c
join loci_data.namespaces n on n.id = c.namespace_id
join loci_data.memories a on a.namespace_id = c.namespace_id and a.lineage_id = c.ancestor_id
     and loci.holds_at(a, statement_timestamp(), null)
join loci_data.memories d on d.namespace_id = c.namespace_id and d.lineage_id = c.descendant_id
     and loci.holds_at(d, statement_timestamp(), null)
where loci.holds_at(c.valid_from, c.valid_to, c.recorded_at, c.superseded_at, statement_timestamp(), null);
comment on view loci.hierarchy is
    'Ancestors and descendants among current memories, with the number of steps between them.';
comment on column loci.hierarchy.namespace is 'Name of the namespace.';
comment on column loci.hierarchy.depth is 'Steps between them, at least 1.';
comment on column loci.hierarchy.ancestor_id is 'The memory above (its current version). Joins memory_versions.id.';
comment on column loci.hierarchy.ancestor is 'Its content.';
comment on column loci.hierarchy.descendant_id is 'The memory below (its current version). Joins memory_versions.id.';
comment on column loci.hierarchy.descendant is 'Its content.';
