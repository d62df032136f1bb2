-- Which edge, of those believed now, is this triple? One look-up in edges_triple or edges_literal. Type and target are
-- compared as a row, because as plain equalities a planner without statistics (the first import into a new database)
-- takes edges_type instead, and reads every edge of the type.
create or replace function loci_internal.find_edge_id(p_namespace_id integer, p_source_id uuid, p_type text,
                                                      p_target_id uuid, p_literal text)
returns uuid
language sql stable parallel safe
as $$
    select case when p_literal is null
        then (select e.id from loci_data.edges e
              where e.namespace_id = p_namespace_id and e.source_id = p_source_id and e.target_id is not null
                and e.superseded_at is null
                and (e.type, e.target_id) >= (p_type, p_target_id)
                and (e.type, e.target_id) <= (p_type, p_target_id))
        else (select e.id from loci_data.edges e
              where e.namespace_id = p_namespace_id and e.source_id = p_source_id and e.literal is not null
                and e.superseded_at is null
                and (e.type, md5(e.literal)) >= (p_type, md5(p_literal))
                and (e.type, md5(e.literal)) <= (p_type, md5(p_literal))) end
$$;
comment on function loci_internal.find_edge_id(integer, uuid, text, uuid, text) is
    'Id of the believed edge with this source, type and target or literal; null if there is none.';

-- Which edge stands for this one now? Itself while it is believed; else the one of the same triple that has some of its
-- evidence, because merging and undoing record edges anew; null: none does. One made by a new observation is another
-- edge, whatever it says. Primary key, edges_triple or edges_literal, edge_observations_edge.
create or replace function loci_internal.current_edge_id(p_namespace_id integer, p_id uuid) returns uuid
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select case when e.superseded_at is null then e.id else (
        select t.id
        from (select loci_internal.find_edge_id(p_namespace_id,
                                                loci_internal.surviving_entity_id(p_namespace_id, e.source_id), e.type,
                                              loci_internal.surviving_entity_id(p_namespace_id, e.target_id),
                                              e.literal) as id offset 0) t
        where exists (select from loci_data.edge_observations a
                      join loci_data.edge_observations b on b.namespace_id = p_namespace_id and b.edge_id = t.id
                           and coalesce(b.origin_id, b.id) = coalesce(a.origin_id, a.id)
                      where a.namespace_id = p_namespace_id and a.edge_id = e.id)
           or t.id is not null and not exists (select from loci_data.edge_observations a
                                               where a.namespace_id = p_namespace_id and a.edge_id = e.id)) end
    from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = p_id
$$;
comment on function loci_internal.current_edge_id(integer, uuid) is
    'The believed edge that an edge is now, over whatever recorded it anew; null if there is none.';
