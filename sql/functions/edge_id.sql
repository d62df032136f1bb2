-- Which edge, of those believed now, is this triple? One look-up in edges_triple or edges_literal. Called by add_edges; internal.
create or replace function loci.edge_id(p_namespace_id integer, p_source_id uuid, p_type text, p_target_id uuid, p_literal text)
returns uuid
language sql stable parallel safe
as $$
    select case when p_literal is null
        then (select e.id from loci_data.edges e
              where e.namespace_id = p_namespace_id and e.source_id = p_source_id and e.type = p_type
                and e.target_id = p_target_id and e.superseded_at is null)
        else (select e.id from loci_data.edges e
              where e.namespace_id = p_namespace_id and e.source_id = p_source_id and e.type = p_type
                and md5(e.literal) = md5(p_literal) and e.literal = p_literal and e.superseded_at is null) end
$$;
comment on function loci.edge_id(integer, uuid, text, uuid, text) is 'Id of the believed edge with this source, type and target or literal; null if there is none. Internal.';
