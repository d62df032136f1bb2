-- Trigger: a placement is no longer believed, and so is every path that goes over it. Cost: paths above × paths below.
create or replace function loci.cut_paths() returns trigger
language plpgsql security definer set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    perform loci.lock_hierarchy(old.namespace_id, true);
    delete from loci_data.memory_closure c using loci.paths_over(old) p
    where c.namespace_id = old.namespace_id and c.ancestor_id = p.ancestor_id and c.descendant_id = p.descendant_id
      and c.recorded_at = p.recorded_at and c.valid_from = p.valid_from and c.recorded_at >= new.superseded_at;
    update loci_data.memory_closure c set superseded_at = new.superseded_at
    from loci.paths_over(old) p
    where c.namespace_id = old.namespace_id and c.ancestor_id = p.ancestor_id and c.descendant_id = p.descendant_id
      and c.recorded_at = p.recorded_at and c.valid_from = p.valid_from
      and (c.superseded_at is null or c.superseded_at > new.superseded_at);
    return null;
end $$;
comment on function loci.cut_paths() is 'Trigger: end the paths in memory_closure that go over a placement.';
