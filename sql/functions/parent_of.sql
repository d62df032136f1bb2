-- Which memory does a memory stand under, at a moment (or the nearest to it that it was valid at), as believed at a moment (null:
-- now)? The version of the parent that was visible then, else the parent's first that is left. One row or none; inlines into the
-- caller's plan: one index look-up for a node without parent, two more for the others. Internal.
create or replace function loci.parent_of(p_memory loci_data.memories, p_at timestamptz, p_known_at timestamptz default null)
returns table (parent_id uuid)
language sql stable parallel safe
as $$
    select coalesce(
        (select m.id from loci_data.memories m
         where m.namespace_id = p.namespace_id and m.lineage_id = p.parent_id
           and m.valid_from <= case when p_known_at is null then t.moment else 'infinity' end
           and loci.passes(m, loci.at_moment(t.moment, p_known_at))
         order by m.valid_from desc limit 1),
        (select m.id from loci_data.memories m
         where m.namespace_id = p.namespace_id and m.lineage_id = p.parent_id
         order by m.id <> p.parent_id, m.version limit 1))
    from (select greatest(p_memory.valid_from, least(p_at, p_memory.valid_to - interval '1 microsecond')) as moment) t
    join loci_data.memory_placements p on p.namespace_id = p_memory.namespace_id and p.node_id = p_memory.lineage_id
         and loci.is_held(p.valid_from, p.valid_to, p.recorded_at, p.superseded_at, t.moment, p_known_at)
    limit 1
$$;
comment on function loci.parent_of(loci_data.memories, timestamptz, timestamptz) is 'The memory that a memory stands under at a moment; no row: none. Internal.';
