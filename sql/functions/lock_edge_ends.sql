-- Before the edges of an operation are undone: lock the entities at their ends, and those that stand in their place by now, in order of
-- canonical_name like every writer of the graph. Called by undo_edges; internal.
create or replace function loci.lock_edge_ends(p_namespace_id integer, p_operation uuid, p_ids uuid[]) returns void
language sql volatile set search_path = '' set enable_seqscan = off
as $$
    with edge as materialized (
        select e.source_id, e.target_id
        from (select u.id from unnest(p_ids) u(id)
              union select o.edge_id from loci_data.edge_observations o where o.namespace_id = p_namespace_id and o.operation_id = p_operation) i
        cross join lateral (select x.source_id, x.target_id from loci_data.edges x where x.namespace_id = p_namespace_id and x.id = i.id limit 1) e
    ), ends as materialized (
        select loci.kept_id(p_namespace_id, n.id) as id from (select g.source_id as id from edge g union select g.target_id from edge g) n where n.id is not null
    )
    select from loci_data.entities e
    where e.namespace_id = p_namespace_id and e.id = any (array(select n.id from ends n)) order by e.canonical_name, e.id for no key update
$$;
comment on function loci.lock_edge_ends(integer, uuid, uuid[]) is 'Lock the entities at the ends of an operation''s edges. Internal.';
