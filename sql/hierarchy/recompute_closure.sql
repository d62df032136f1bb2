-- Every path of placements, found by recursion: what memory_closure must hold. For loci verify and repair_hierarchy;
create or replace function loci_internal.recompute_closure(p_namespace_id integer)
returns table (ancestor_id uuid, descendant_id uuid, depth integer, valid_from timestamptz, valid_to timestamptz,
               recorded_at timestamptz, superseded_at timestamptz)
language sql stable set search_path = ''
as $$
    with recursive path as (
        select p.parent_id as ancestor_id, p.node_id as descendant_id, 1 as depth, p.valid_from, p.valid_to,
               p.recorded_at, p.superseded_at
        from loci_data.memory_placements p where p.namespace_id = p_namespace_id
        union all
        select p.parent_id, d.descendant_id, d.depth + 1, greatest(d.valid_from, p.valid_from),
               least(d.valid_to, p.valid_to),
               greatest(d.recorded_at, p.recorded_at), least(d.superseded_at, p.superseded_at)
        from path d join loci_data.memory_placements p on p.namespace_id = p_namespace_id and p.node_id = d.ancestor_id
        where loci_internal.periods_overlap(d.valid_from, d.valid_to, p.valid_from, p.valid_to)
          and loci_internal.periods_overlap(d.recorded_at, d.superseded_at, p.recorded_at, p.superseded_at)
    ) cycle ancestor_id, descendant_id, recorded_at, valid_from set looped using trail
    select d.ancestor_id, d.descendant_id, d.depth, d.valid_from, d.valid_to, d.recorded_at, d.superseded_at
    from path d where not d.looped
$$;
comment on function loci_internal.recompute_closure(integer) is
    'All paths of the hierarchy with their two times, by recursion over placements.';
