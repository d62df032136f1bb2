-- All paths that go over a placement: those that end at its parent (or start there), the step itself, those that start at its node
-- (or end there), for the time that they share. Two ranges of memory_closure. Called by the triggers of memory_placements; internal.
create or replace function loci.paths_over(p_step loci_data.memory_placements)
returns table (ancestor_id uuid, descendant_id uuid, depth integer, valid_from timestamptz, valid_to timestamptz,
               recorded_at timestamptz, superseded_at timestamptz)
language sql stable set search_path = ''
as $$
    select above.node, below.node, above.depth + 1 + below.depth, t.valid_from, t.valid_to, t.recorded_at, t.superseded_at
    from (select p_step.parent_id as node, 0 as depth, '-infinity'::timestamptz as valid_from, null::timestamptz as valid_to,
                 '-infinity'::timestamptz as recorded_at, null::timestamptz as superseded_at
          union all
          select a.ancestor_id, a.depth, a.valid_from, a.valid_to, a.recorded_at, a.superseded_at from loci_data.memory_closure a
          where a.namespace_id = p_step.namespace_id and a.descendant_id = p_step.parent_id) above
    cross join
         (select p_step.node_id as node, 0 as depth, '-infinity'::timestamptz as valid_from, null::timestamptz as valid_to,
                 '-infinity'::timestamptz as recorded_at, null::timestamptz as superseded_at
          union all
          select b.descendant_id, b.depth, b.valid_from, b.valid_to, b.recorded_at, b.superseded_at from loci_data.memory_closure b
          where b.namespace_id = p_step.namespace_id and b.ancestor_id = p_step.node_id) below
    cross join lateral (
        select greatest(above.valid_from, p_step.valid_from, below.valid_from) as valid_from,
               least(above.valid_to, p_step.valid_to, below.valid_to) as valid_to,
               greatest(above.recorded_at, p_step.recorded_at, below.recorded_at) as recorded_at,
               least(above.superseded_at, p_step.superseded_at, below.superseded_at) as superseded_at) t
    where (t.valid_to is null or t.valid_to > t.valid_from) and (t.superseded_at is null or t.superseded_at > t.recorded_at)
$$;
comment on function loci.paths_over(loci_data.memory_placements) is 'Paths of the hierarchy that go over a placement, with their two times. Internal.';
