-- Links between memories that are believed now, with what both ends say. Links tie lineages: each end is shown as it is
-- valid now, or was last. By source_id the primary key, by target_id memory_links_target. Under the policies: rows of
-- granted namespaces only.
create or replace view loci.links with (security_invoker = true) as
select n.name as namespace,
       (select m.lineage from loci_data.memories m
        where m.namespace_id = l.namespace_id and m.lineage_id = l.source_id limit 1) as source_lineage,
       (select m.content from loci_data.memories m
        where m.namespace_id = l.namespace_id and m.lineage_id = l.source_id
        order by m.status = 'active' and m.valid_from <= statement_timestamp() desc, m.valid_from desc, m.version desc
        limit 1) as source,
       l.type,
       (select m.lineage from loci_data.memories m
        where m.namespace_id = l.namespace_id and m.lineage_id = l.target_id limit 1) as target_lineage,
       (select m.content from loci_data.memories m
        where m.namespace_id = l.namespace_id and m.lineage_id = l.target_id
        order by m.status = 'active' and m.valid_from <= statement_timestamp() desc, m.valid_from desc, m.version desc
        limit 1) as target,
       l.strength, l.recorded_at, l.source_id, l.target_id
from loci_data.memory_links l
join loci_data.namespaces n on n.id = l.namespace_id
where l.superseded_at is null;
comment on view loci.links is
    'Links between memories that are believed now; past strengths and links that were taken back: list_links.';
comment on column loci.links.namespace is 'Name of the namespace.';
comment on column loci.links.source_lineage is
    'Lineage that the link starts from; what it says now: Joins current_memories.lineage.';
comment on column loci.links.source is 'Present content of that memory, else its last.';
comment on column loci.links.type is 'Free text: related_to, part_of, contradicts, supports, ….';
comment on column loci.links.target_lineage is
    'Lineage that it points to; what it says now: Joins current_memories.lineage.';
comment on column loci.links.target is 'Present content of that memory, else its last.';
comment on column loci.links.strength is '0 to 1.';
comment on column loci.links.recorded_at is 'Recorded time: since when this is believed.';
comment on column loci.links.source_id is
    'Identifier of the source: of the first version of its lineage, whichever is current. Joins memory_versions.id.';
comment on column loci.links.target_id is
    'Identifier of the target: of the first version of its lineage, whichever is current. Joins memory_versions.id.';
