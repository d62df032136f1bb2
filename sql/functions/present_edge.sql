-- Which edge stands for this one now? Itself while it is believed; else the one of the same triple that has some of its evidence, because
-- merging and undoing record edges anew; null: none does. One made by a new observation is another edge, whatever it says.
-- Primary key, edges_triple or edges_literal, edge_observations_edge. Called by changed_edges and undo_edges; internal.
create or replace function loci.present_edge(p_namespace_id integer, p_id uuid) returns uuid
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select case when e.superseded_at is null then e.id else (
        select t.id from (select loci.edge_id(p_namespace_id, loci.kept_id(p_namespace_id, e.source_id), e.type,
                                              loci.kept_id(p_namespace_id, e.target_id), e.literal) as id offset 0) t
        where exists (select from loci_data.edge_observations a
                      join loci_data.edge_observations b on b.namespace_id = p_namespace_id and b.edge_id = t.id
                           and coalesce(b.origin_id, b.id) = coalesce(a.origin_id, a.id)
                      where a.namespace_id = p_namespace_id and a.edge_id = e.id)
           or t.id is not null and not exists (select from loci_data.edge_observations a where a.namespace_id = p_namespace_id and a.edge_id = e.id)) end
    from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = p_id
$$;
comment on function loci.present_edge(integer, uuid) is 'The believed edge that an edge is now, over whatever recorded it anew; null if there is none. Internal.';
