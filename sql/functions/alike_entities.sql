-- Which of the 200 most mentioned entities may be the same as another, because they mean nearly the same? Cosine of their vectors from 0.95 on, types
-- that agree, the same digits in their names, and another name_key. Proposals, never acted upon. Exact: 200 scans of the namespace's vectors.
-- Called by merge_duplicates; internal.
create or replace function loci.alike_entities(p_namespace_id integer, p_limit integer)
returns table (kept_id uuid, kept text, merged_id uuid, merged text, score double precision)
language plpgsql stable set search_path from current
as $$
declare
    v_model smallint := (select m.id from loci_data.embedding_models m where m.active);
begin
    return query
    with often as materialized (
        select e.id, e.name, e.type, e.mentions, v.embedding
        from loci_data.entities e
        join loci_data.entity_vectors v on v.namespace_id = p_namespace_id and v.entity_id = e.id and v.model_id = v_model
        where e.namespace_id = p_namespace_id and e.merged_into is null
        order by e.mentions desc, e.id limit 200
    )
    select o.id, o.name, n.id, n.name, 1 - n.distance
    from often o
    cross join lateral (
        select e.id, e.name, v.embedding <=> o.embedding as distance
        from loci_data.entity_vectors v
        join loci_data.entities e on e.namespace_id = p_namespace_id and e.id = v.entity_id
        where v.namespace_id = p_namespace_id and v.model_id = v_model and v.embedding <=> o.embedding <= 0.05
          and (e.type = o.type or loci.is_vaguer(e.type, o.type) or loci.is_vaguer(o.type, e.type))
          and (e.mentions, o.id) < (o.mentions, e.id)
          and regexp_replace(e.name, '[^0-9]+', ' ', 'g') = regexp_replace(o.name, '[^0-9]+', ' ', 'g')
          and loci.name_key(e.name) is distinct from loci.name_key(o.name)) n
    order by n.distance, o.id, n.id limit p_limit;
end $$;
comment on function loci.alike_entities(integer, integer) is 'Pairs of often mentioned entities that mean nearly the same. Internal.';
