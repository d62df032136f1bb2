-- Which edge, of those believed now, is this triple? One look-up in edges_triple or edges_literal. Type and target
-- are compared as a row, because as plain equalities a planner without statistics (the first import into a new database) takes
-- edges_type instead, and reads every edge of the type. Called by add_edges; internal.
create or replace function loci.edge_id(p_namespace_id integer, p_source_id uuid, p_type text, p_target_id uuid, p_literal text)
returns uuid
language sql stable parallel safe
as $$
    select case when p_literal is null
        then (select e.id from loci_data.edges e
              where e.namespace_id = p_namespace_id and e.source_id = p_source_id and e.target_id is not null and e.superseded_at is null
                and (e.type, e.target_id) >= (p_type, p_target_id)
                and (e.type, e.target_id) <= (p_type, p_target_id))
        else (select e.id from loci_data.edges e
              where e.namespace_id = p_namespace_id and e.source_id = p_source_id and e.literal is not null and e.superseded_at is null
                and (e.type, md5(e.literal)) >= (p_type, md5(p_literal))
                and (e.type, md5(e.literal)) <= (p_type, md5(p_literal))) end
$$;
comment on function loci.edge_id(integer, uuid, text, uuid, text) is 'Id of the believed edge with this source, type and target or literal; null if there is none. Internal.';
