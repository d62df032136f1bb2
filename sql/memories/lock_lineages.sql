-- Lock the lineages that items name, in order of name, and make those that are not there yet. The name may be the id of
-- a memory without one; asked only with the lock, because an erasure may have held it. Index look-ups, planned for any
-- namespace: in one that the statistics do not know yet, every index that begins with it looks as good.
create or replace function loci_internal.lock_lineages(p_namespace_id integer, p_items loci_internal.memory_input[])
returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
begin
    insert into loci_data.lineages as l (namespace_id, lineage, id, versions)
    select distinct on (i.lineage) p_namespace_id, i.lineage, i.id, 0 from unnest(p_items) i where i.lineage is not null
    order by i.lineage, i.ordinal
    on conflict (namespace_id, lineage) do update set versions = l.versions;
    if found then
        update loci_data.lineages l set id = m.lineage_id, versions = m.version, written_at = m.recorded_at
        from (select distinct u.lineage from unnest(p_items) u where u.lineage is not null) i
        cross join lateral (select o.lineage_id, o.version, o.recorded_at from loci_data.memories o
                            where o.namespace_id = p_namespace_id and o.lineage = i.lineage
                            order by o.version desc limit 1) m
        where l.namespace_id = p_namespace_id and l.lineage = i.lineage and l.versions = 0;
    end if;
end $$;
comment on function loci_internal.lock_lineages(integer, loci_internal.memory_input[]) is
    'Lock the lineages that items name, and make new ones.';
