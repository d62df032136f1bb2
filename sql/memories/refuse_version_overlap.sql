-- Trigger: two active versions of one lineage are never valid at the same moment, whatever the writer does, and however
-- many write: the lineage's row is locked first (its writers hold that lock already). Two probes of the index
-- memories_chain: the neighbours in valid time. Empty intervals (corrected errors) overlap nothing. Planned once, for
-- any namespace: a plan for each row of a batch took longer to make than to run, and knew no statistics of a new one.
create or replace function loci_internal.refuse_version_overlap() returns trigger
language plpgsql security definer set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_other uuid;
begin
    perform from loci_data.lineages l where l.namespace_id = new.namespace_id and l.lineage = new.lineage
        for no key update;
    select before.id into v_other
    from (select o.id, o.valid_to from loci_data.memories o
          where o.namespace_id = new.namespace_id and o.lineage_id = new.lineage_id and o.id <> new.id
            and o.status = 'active'
            and o.valid_from <= new.valid_from and (o.valid_to is null or o.valid_to > o.valid_from)
          order by o.valid_from desc limit 1) before
    where before.valid_to is null or before.valid_to > new.valid_from;
    if v_other is null then
        select o.id into v_other from loci_data.memories o
        where o.namespace_id = new.namespace_id and o.lineage_id = new.lineage_id and o.id <> new.id
          and o.status = 'active'
          and o.valid_from > new.valid_from and (o.valid_to is null or o.valid_to > o.valid_from)
          and (new.valid_to is null or o.valid_from < new.valid_to)
        order by o.valid_from limit 1;
    end if;
    if v_other is not null then
        raise exclusion_violation using
            message = format('version %s of lineage %L would be valid together with memory %s', new.version,
                             new.lineage, v_other),
            constraint = 'memories_overlap', column = 'valid_from';
    end if;
    return null;
end $$;
comment on function loci_internal.refuse_version_overlap() is
    'Trigger: refuse versions of one lineage whose validity overlaps.';

-- A memory alone in its lineage (its own id is the name) has nothing to overlap with.
create or replace trigger memories_overlap_added after insert on loci_data.memories
    for each row when (new.lineage <> new.id::text and new.status = 'active'
                       and (new.valid_to is null or new.valid_to > new.valid_from))
    execute function loci_internal.refuse_version_overlap();
create or replace trigger memories_overlap_changed after update on loci_data.memories
    for each row when (new.status = 'active' and (new.valid_to is null or new.valid_to > new.valid_from)
                       and (old.valid_from, old.valid_to, old.status, old.lineage_id)
                           is distinct from (new.valid_from, new.valid_to, new.status, new.lineage_id))
    execute function loci_internal.refuse_version_overlap();
