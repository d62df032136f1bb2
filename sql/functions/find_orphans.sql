-- Which current facts and episodes (layers 2 and 3) have never stood under another memory? Oldest first, after p_cursor. What was once placed
-- and taken out again was taken out by someone, and is left alone. Walks the unique index on doc_id; one look-up in placements for each
-- memory passed. Called by reflect; internal.
create or replace function loci.find_orphans(p_namespace_id integer, p_limit integer, p_category text, p_cursor bigint) returns loci.orphan[]
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    return array(
        select (m.doc_id, m.id, m.lineage_id, m.content, m.category, m.layer)::loci.orphan from loci_data.memories m
        where m.namespace_id = p_namespace_id and m.doc_id > coalesce(p_cursor, -1) and m.layer >= 2
          and loci.passes(m, loci.at_moment(clock_timestamp(), null))
          and (p_category is null or m.category = p_category or starts_with(m.category, p_category || '/'))
          and not exists (select from loci_data.memory_placements p where p.namespace_id = p_namespace_id and p.node_id = m.lineage_id)
        order by m.doc_id limit p_limit);
end $$;
comment on function loci.find_orphans(integer, integer, text, bigint) is 'Current facts and episodes that never had a place in the hierarchy, a page of them. Internal.';
