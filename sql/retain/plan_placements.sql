-- Where should orphans stand? By their category: under the concept of the deepest of its paths that has one or is due
-- one; of several, the most similar. Else under the concept that means most like it (cosine from reflect_place on), or
-- without vectors, whose name it says. Else nowhere. Concepts are read once; similarity is exact.
create or replace function loci_internal.plan_placements(p_namespace_id integer, p_orphans loci_api.orphan[],
                                                         p_settings jsonb)
returns setof loci_api.planned_place
language plpgsql stable set search_path from current set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_now   loci_internal.memory_filter := loci_internal.filter_at(clock_timestamp(), null);
    v_model smallint := (select m.id from loci_data.embedding_models m where m.active);
begin
    return query
    with node as materialized (
        select * from loci_internal.category_concepts(p_namespace_id,
                                                      array(select distinct o.category from unnest(p_orphans) o),
                                                      p_settings)
    ), orphan as materialized (
        select o.*, n.path, n.lineage as node, n.concept_ids, v.embedding
        from unnest(p_orphans) o
        left join lateral (select n.* from node n where (n.concept_ids is not null or n.is_due)
                             and (o.category = n.path or starts_with(o.category, n.path || '/'))
                           order by n.depth desc limit 1) n on true
        left join lateral (select w.embedding from loci_data.memory_vectors w
                           where w.namespace_id = p_namespace_id and w.memory_id = o.id
                             and w.model_id = v_model limit 1) v on true
    ), concept as materialized (
        select m.id, m.lineage, m.doc_id, v.embedding, (loci_internal.read_fact(m.content)).gist as gist
        from loci_data.memories m
        left join lateral (select w.embedding from loci_data.memory_vectors w
                           where w.namespace_id = p_namespace_id and w.memory_id = m.id
                             and w.model_id = v_model limit 1) v on true
        where m.namespace_id = p_namespace_id and m.layer <= 1 and loci_internal.memory_is_visible(m, v_now)
    )
    select o.id, o.node_id, c.id, coalesce(c.lineage, o.node), case when c.id is null then o.path end,
           round(c.similarity::numeric, 3)::double precision,
           case when c.by_category then format('concept of its category %s', o.path)
                when o.node is not null and o.concept_ids is null
                    then format('several memories are in the category %s', o.path)
                when c.by_name then 'says its name' else 'means the same' end
    from orphan o
    left join lateral (
        select k.id, k.lineage, s.similarity, k.id = any (o.concept_ids) as by_category, s.similarity is null as by_name
        from concept k
        cross join lateral (select 1 - (k.embedding <=> o.embedding) as similarity) s
        where case when o.node is not null then k.id = any (o.concept_ids)
                   when s.similarity is null then cardinality(k.gist) between 1 and 4
                   and k.gist <@ (loci_internal.read_fact(o.content)).gist
                   else s.similarity >= (p_settings ->> 'reflect_place')::double precision end
        order by s.similarity desc nulls last, k.doc_id limit 1) c on true
    where c.id is not null or o.node is not null
    order by o.doc_id;
end $$;
comment on function loci_internal.plan_placements(integer, loci_api.orphan[], jsonb) is
    'Where orphans should stand: under a concept that there is, or one that is to be made.';
