-- After edges were written: of a type that has one target at a time, each edge is valid until the next begins. What was
-- valid before (p_before, from lock_single_valued_sources) and what was observed now are points in valid time; between
-- one and
-- the next the edge of the first is valid, and an end that was stated ends it earlier. So an older fact takes its place
-- before a newer one, and does not end it. An edge has one interval: where it was valid twice, it is the later one, and
-- known_at still answers for the other. Trigger edges_belief keeps what was believed. Edges that were declared before
-- their type is, and overlap, are put in order with the next observation of their source. Set-based.
create or replace function loci_internal.end_superseded_single_values(p_namespace_id integer,
                                                                      p_items loci_internal.edge_input[], p_ids uuid[],
                                                                      p_before loci_data.edges[], p_at timestamptz)
returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_ids uuid[];
begin
    v_ids := array(  -- locked in order of id, as by every writer of edges
        select e.id from loci_data.edges e
        where e.namespace_id = p_namespace_id and e.superseded_at is null
          and e.id = any (p_ids || array(select b.id from unnest(p_before) b))
          and e.type = any (array(select t.type from loci_data.edge_types t where t.namespace_id = p_namespace_id
                                  and t.single_valued))
        order by e.id for no key update);
    with item as materialized (
        select i.*, p_ids[i.ordinal] as id, min(i.observed_at) over (partition by i.source_id, i.type) as earliest
        from unnest(p_items) i
    ), stated as (  -- what holds from when, and until when if that was said
        select b.source_id, b.type, b.id, b.valid_from as starts, b.valid_to as ends, 0 as nth
        from unnest(p_before) b where b.valid_to is null or b.valid_to > b.valid_from
        union all  -- it was seen again since: that counts against what is observed late
        select b.source_id, b.type, b.id, b.last_observed_at, b.valid_to, 0
        from unnest(p_before) b join (select distinct i.source_id, i.type, i.earliest from item i) i
            on i.source_id = b.source_id and i.type = b.type
        where b.last_observed_at > b.valid_from and b.last_observed_at > i.earliest
          and (b.valid_to is null or b.valid_to > b.last_observed_at)
        union all
        select i.source_id, i.type, i.id, coalesce(i.valid_from, i.observed_at), i.valid_to, i.ordinal from item i
    ), placed as (
        select s.*, s.id is distinct from lag(s.id) over line as turns
        from stated s where s.id = any (v_ids)
        window line as (partition by s.source_id, s.type order by s.starts, s.nth, s.id)
    ), numbered as (
        select p.*, count(*) filter (where p.turns)
            over (partition by p.source_id, p.type order by p.starts, p.nth, p.id) as run from placed p
    ), run as (
        select n.source_id, n.type, n.id, n.run, min(n.starts) as starts,
               least(min(n.ends) filter (where n.ends >= n.seen),
                     lead(min(n.starts)) over (partition by n.source_id, n.type order by n.run)) as ends
        from (select x.*, max(x.starts) over (partition by x.source_id, x.type, x.run) as seen from numbered x) n
        group by n.source_id, n.type, n.id, n.run
    ), last as (
        select distinct on (r.id) r.* from run r order by r.id, (r.ends is null or r.ends > r.starts) desc, r.run desc
    )
    update loci_data.edges e
    set valid_from = l.starts, valid_to = l.ends, updated_at = greatest(e.updated_at, p_at)
    from last l
    where e.namespace_id = p_namespace_id and e.id = any (v_ids) and e.id = l.id
      and (e.valid_from, e.valid_to) is distinct from (l.starts, l.ends);
end $$;
comment on function loci_internal.end_superseded_single_values(integer, loci_internal.edge_input[], uuid[],
                                                               loci_data.edges[], timestamptz) is
    'Let each edge of a single-valued type be valid until the next of its source begins.';
