-- Which lineages do not stand where an operation put them, or stand where it took them from? Someone has moved them
-- since.
create or replace function loci_internal.placements_changed_since(p_namespace_id integer, p_operation uuid)
returns setof uuid
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with net as materialized (
        select * from loci_internal.net_placement_changes(p_namespace_id, p_operation)
    ), standing as (
        select n.node_id, n.gained, exists (
                   select from loci_data.memory_placements p
                   where p.namespace_id = p_namespace_id and p.node_id = n.node_id and p.superseded_at is null
                     and (p.parent_id, p.valid_from, p.valid_to) is not distinct from (n.parent_id, n.valid_from,
                         n.valid_to)) as stands,
               exists (
                   select from loci_data.memory_placements p
                   where p.namespace_id = p_namespace_id and p.node_id = n.node_id and p.superseded_at is null
                     and loci_internal.periods_overlap(p.valid_from, p.valid_to, n.valid_from, n.valid_to)
                     and not exists (select from net g where g.gained and g.node_id = n.node_id
                                     and (p.parent_id, p.valid_from, p.valid_to) is not distinct from (g.parent_id,
                                         g.valid_from, g.valid_to))) as taken
        from net n
    )
    select distinct s.node_id from standing s where case when s.gained then not s.stands else s.taken
        and not s.stands end
$$;
comment on function loci_internal.placements_changed_since(integer, uuid) is
    'Lineages that were moved since an operation moved them.';
