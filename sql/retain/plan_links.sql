-- Which memories should reflect link to these orphans? The nearest by meaning (cosine from reflect_related on,
-- reflect_links each) among facts and episodes that will not stand under the same memory. Pairs that are linked, in
-- either direction, or whose link was taken back are left out after that, so that a second run finds no others. A
-- search by meaning for each orphan that has a vector.
create or replace function loci_internal.plan_links(p_namespace_id integer, p_namespace text,
                                                    p_orphans loci_api.orphan[], p_places loci_api.planned_place[],
                                                    p_settings jsonb)
returns table (source_id uuid, target_id uuid, strength double precision)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_model smallint := (select m.id from loci_data.embedding_models m where m.active);
    v_links integer := (p_settings ->> 'reflect_links')::integer;
begin
    return query
    with orphan as (
        select o.id, o.node_id, o.doc_id, v.embedding::real[] as embedding, p.parent
        from unnest(p_orphans) o
        cross join lateral (select w.embedding from loci_data.memory_vectors w
                            where w.namespace_id = p_namespace_id and w.memory_id = o.id
                              and w.model_id = v_model limit 1) v
        left join unnest(p_places) p on p.memory_id = o.id
    ), near as materialized (
        select o.id, o.node_id, o.doc_id, n.id as other_id, n.node_id as other_node, n.doc_id as other_doc, n.score
        from orphan o
        cross join lateral (
            select m.id, m.lineage_id as node_id, s.doc_id, s.score
            from loci.similar_memories(p_namespace, o.embedding, 4 * v_links + 1, '{"layers": [2, 3]}') s
            cross join lateral (select m.id, m.lineage_id from loci_data.memories m
                                where m.namespace_id = p_namespace_id and m.id = s.id limit 1) m
            left join unnest(p_places) p on p.memory_id = m.id
            left join lateral (select k.lineage from loci_data.memory_placements w
                               join loci_data.memories k on k.namespace_id = p_namespace_id and k.id = w.parent_id
                               where w.namespace_id = p_namespace_id and w.node_id = m.lineage_id
                                 and w.superseded_at is null
                                 and loci_internal.periods_overlap(w.valid_from, w.valid_to, clock_timestamp(), null)
                               limit 1) k on true
            where m.lineage_id <> o.node_id and s.score >= (p_settings ->> 'reflect_related')::double precision
              and (o.parent is null or coalesce(p.parent, k.lineage) is distinct from o.parent)
            order by s.score desc, s.doc_id limit v_links) n
    ), pair as (  -- the later one is the source, whichever of the two found the other
        select distinct on (least(n.node_id, n.other_node), greatest(n.node_id, n.other_node))
               case when n.doc_id > n.other_doc then n.id else n.other_id end as source, case
                   when n.doc_id > n.other_doc then n.other_id else n.id end as target,
               n.node_id, n.other_node, n.score
        from near n order by least(n.node_id, n.other_node), greatest(n.node_id, n.other_node), n.score desc, n.id,
             n.other_id
    )
    select p.source, p.target, round(least(p.score, 1)::numeric, 3)::double precision from pair p
    where not exists (select from loci_data.memory_links l where l.namespace_id = p_namespace_id
                      and (l.source_id, l.target_id) in ((p.node_id, p.other_node), (p.other_node, p.node_id)))
    order by p.score desc, p.source, p.target;
end $$;
comment on function loci_internal.plan_links(integer, text, loci_api.orphan[], loci_api.planned_place[], jsonb) is
    'Links that orphans should get to what means much the same elsewhere.';
