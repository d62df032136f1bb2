-- Give the aspects of one entity to another, those of p_ids only unless null. Where the other has one by that name, its
-- attributes move, and the empty one stays behind. Returns {"aspects": [ids], "attributes": [[id, aspect that it left],
-- …]}. The caller holds the entities.
create or replace function loci_internal.move_aspects(p_namespace_id integer, p_from uuid, p_to uuid, p_ids uuid[],
                                                      p_at timestamptz) returns jsonb
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_aspects    jsonb;
    v_attributes jsonb;
begin
    with met as materialized (
        select a.id as from_id, k.id as to_id
        from loci_data.aspects a
        join loci_data.aspects k on k.namespace_id = p_namespace_id and k.entity_id = p_to
             and k.canonical_name = a.canonical_name
        where a.namespace_id = p_namespace_id and a.entity_id = p_from and (p_ids is null or a.id = any(p_ids))
    ), moved as (
        update loci_data.attributes t set aspect_id = m.to_id
        from met m where t.namespace_id = p_namespace_id and t.aspect_id = m.from_id
        returning t.id, m.from_id
    )
    select jsonb_agg(jsonb_build_array(m.id, m.from_id)) into v_attributes from moved m;
    with moved as (
        update loci_data.aspects a set entity_id = p_to, updated_at = greatest(a.updated_at, p_at)
        where a.namespace_id = p_namespace_id and a.entity_id = p_from and (p_ids is null or a.id = any(p_ids))
          and not exists (select from loci_data.aspects k
                          where k.namespace_id = p_namespace_id and k.entity_id = p_to
                            and k.canonical_name = a.canonical_name)
        returning a.id
    )
    select jsonb_agg(m.id) into v_aspects from moved m;
    return jsonb_build_object('aspects', coalesce(v_aspects, '[]'), 'attributes', coalesce(v_attributes, '[]'));
end $$;
comment on function loci_internal.move_aspects(integer, uuid, uuid, uuid[], timestamptz) is
    'Move aspects between entities; what moved.';
