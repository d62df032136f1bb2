-- Does a namespace keep its promises? One row a promise: how many rows were looked at, how many break it, and one of
-- them. Reads the whole namespace. closure: memory_closure is exactly the recursion over placements. overlap: versions
-- of a lineage are never valid together. current: at most one open version a lineage. versions: lineages count what was
-- written. index: each memory is in the lexical index once. orphans: placements and links lead to memories that are
-- there. evidence: confidence and counts of believed edges are what their observations add up to. beliefs: what was
-- believed of an edge's spells follows one another without a gap.
create or replace function loci.verify(p_namespace text)
returns table (name text, checked bigint, broken bigint, example text)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    with truth as materialized (
        select * from loci_internal.recompute_closure(v_ns)
    ), closure as materialized (
        select c.ancestor_id, c.descendant_id, c.depth, c.valid_from, c.valid_to, c.recorded_at, c.superseded_at
        from loci_data.memory_closure c where c.namespace_id = v_ns
    ), differs as (
        (select 'missing' as what, m.* from (table truth except all table closure) m)
        union all
        (select 'extra', m.* from (table closure except all table truth) m)
    )
    select 'closure', (select count(*) from closure), (select count(*) from differs),
           (select format('%s path %s > %s', d.what, d.ancestor_id, d.descendant_id) from differs d limit 1)
    union all
    select 'overlap', count(*),
           count(*) filter (where o.until is null and o.follower is not null or o.until > o.follower),
           min(o.lineage) filter (where o.until is null and o.follower is not null or o.until > o.follower)
    from (select m.lineage, m.valid_to as until,
          lead(m.valid_from) over (partition by m.lineage order by m.valid_from, m.valid_to) as follower
          from loci_data.memories m where m.namespace_id = v_ns and m.status = 'active'
              and (m.valid_to is null or m.valid_to > m.valid_from)) o
    union all
    select 'current', count(*), count(*) filter (where c.open > 1), min(c.lineage) filter (where c.open > 1)
    from (select m.lineage, count(*) filter (where m.valid_to is null and m.status = 'active') as open
          from loci_data.memories m where m.namespace_id = v_ns group by m.lineage) c
    union all
    select 'versions', count(*), count(*) filter (where v.last > v.versions),
           min(v.lineage) filter (where v.last > v.versions)
    from (select l.lineage, l.versions,
          (select max(m.version) from loci_data.memories m where m.namespace_id = v_ns
           and m.lineage = l.lineage) as last
          from loci_data.lineages l where l.namespace_id = v_ns) v
    union all
    select 'index', count(*), count(*) filter (where t.memory_id is null),
           min(m.id::text) filter (where t.memory_id is null)
    from loci_data.memories m left join loci_data.memory_texts t on t.namespace_id = v_ns and t.memory_id = m.id
    where m.namespace_id = v_ns
    union all
    select 'orphans', count(*), count(*) filter (where not e.there), min(e.id::text) filter (where not e.there)
    from (select n.id, exists (select from loci_data.memories m where m.namespace_id = v_ns
                               and m.lineage_id = n.id) as there
          from (select node_id as id from loci_data.memory_placements where namespace_id = v_ns
                union select parent_id from loci_data.memory_placements where namespace_id = v_ns
                union select source_id from loci_data.memory_links where namespace_id = v_ns
                union select target_id from loci_data.memory_links where namespace_id = v_ns) n) e
    union all
    select 'evidence', count(*), count(*) filter (where v.differs), min(v.id::text) filter (where v.differs)
    from (select e.id, (e.confidence, e.initial_confidence, e.restored_at, e.first_observed_at, e.last_observed_at,
                        e.observations) is distinct from (f.confidence, f.initial_confidence, f.restored_at,
                                                          f.first_observed_at, f.last_observed_at,
                                                          f.observations) as differs
          from loci_data.edges e
          cross join lateral loci_internal.edge_figures(v_ns, e.id, 'infinity', 'infinity') f
          where e.namespace_id = v_ns and e.superseded_at is null
            and (f.observations > 0 or not exists (  -- what only forgotten memories say keeps its last figures
                 select from loci_data.edge_observations o where o.namespace_id = v_ns and o.edge_id = e.id))) v
    union all
    select 'beliefs', count(*), count(*) filter (where b.gap), min(b.edge_id::text) filter (where b.gap)
    from (select k.edge_id, k.believed_at <> coalesce(
                     lag(k.believed_to) over (partition by k.edge_id order by k.believed_to), e.recorded_at) as gap
          from loci_data.edge_beliefs k join loci_data.edges e on e.namespace_id = v_ns and e.id = k.edge_id
          where k.namespace_id = v_ns) b;
end $$;
comment on function loci.verify(text) is
    'Check what a namespace promises: rows checked, rows that break it, an example. Errors: 42501, P0002.';
