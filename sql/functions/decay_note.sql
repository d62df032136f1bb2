-- What did decay do to an edge? Its confidence when last observed, and the effective one that a walk found. One primary key probe.
-- Called by search_graph for explanations; internal.
create or replace function loci.decay_note(p_namespace_id integer, p_edge_id uuid, p_type text, p_confidence double precision) returns jsonb
language sql stable parallel safe
as $$
    select jsonb_build_object('type', p_type, 'confidence', p_confidence, 'observed_confidence', e.confidence,
                              'last_observed_at', e.last_observed_at)
    from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = p_edge_id
$$;
comment on function loci.decay_note(integer, uuid, text, double precision) is 'Effective and observed confidence of an edge, for explanations. Internal.';
