-- Ids of the next edges of a namespace, an entity or a type, by id. Each source of them is one index in order: edges_source and
-- edges_target for an entity, else edges_type, else the primary key; they are merged, and reading stops at the limit.
-- Edges that do not answer for themselves at these moments are looked up in the evidence (see adjacent_edges, worth_then).
-- p_known_at infinity: the present belief. Called by list_edges; internal.
create or replace function loci.edge_page(p_namespace_id integer, p_entity_id uuid, p_type text, p_faded boolean, p_as_of timestamptz,
                                          p_known_at timestamptz, p_after uuid, p_limit integer) returns uuid[]
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off  -- merge the orders of the indexes
as $$
declare
    v_threshold double precision := case when p_faded then 0 else (loci.settings(p_namespace_id) ->> 'edge_threshold')::double precision end;
    v_trusted   boolean := not loci.is_decaying(p_namespace_id);
begin
    return array(
        select c.id from (
            (select e.* from loci_data.edges e where p_entity_id is null and p_type is null
                and e.namespace_id = p_namespace_id and e.id > p_after order by e.id)
            union all
            (select e.* from loci_data.edges e where p_entity_id is null
                and e.namespace_id = p_namespace_id and e.type = p_type and e.id > p_after order by e.id)
            union all
            (select e.* from loci_data.edges e where e.namespace_id = p_namespace_id and e.source_id = p_entity_id and e.id > p_after order by e.id)
            union all
            (select e.* from loci_data.edges e where e.namespace_id = p_namespace_id and e.target_id = p_entity_id and e.id > p_after
                and e.source_id <> p_entity_id order by e.id)
        ) c
        where (p_type is null or c.type = p_type) and c.recorded_at <= p_known_at
          and (c.superseded_at is null or c.superseded_at > p_known_at) and c.first_observed_at <= p_as_of
          and case when c.last_observed_at <= p_as_of and c.updated_at <= p_known_at
              then c.valid_from <= p_as_of and (c.valid_to is null or c.valid_to > p_as_of) 
                   and case when p_faded then true when v_trusted then c.fades_at > p_as_of
                       else loci.effective_confidence(c.confidence, loci.decay_rate(p_namespace_id, c.type), c.last_observed_at, p_as_of) >= v_threshold end
              else loci.worth_then(p_namespace_id, c.id, c.valid_from, c.valid_to, loci.decay_rate(p_namespace_id, c.type),
                                   p_as_of, p_known_at) >= v_threshold end
        order by c.id limit p_limit);
end $$;
comment on function loci.edge_page(integer, uuid, text, boolean, timestamptz, timestamptz, uuid, integer) is 'Ids of one page of edges. Internal.';
