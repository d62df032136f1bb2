-- Which version of a lineage is current: active, and valid now? No row: none. A probe of memories_chain.
create or replace function loci_internal.current_of_lineage(p_namespace_id integer, p_lineage_id uuid)
returns setof loci_data.memories
language sql stable parallel safe rows 1
as $$
    select m.* from (select clock_timestamp() as now offset 0) t cross join loci_data.memories m
    where m.namespace_id = p_namespace_id and m.lineage_id = p_lineage_id and loci.holds_at(m, t.now, null)
    order by m.valid_from desc, m.id limit 1
$$;
comment on function loci_internal.current_of_lineage(integer, uuid) is
    'The version of a lineage that is current.';
