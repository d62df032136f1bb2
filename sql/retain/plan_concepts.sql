-- Which domains and concepts have to be made for planned places? For each path that is due one, and those above it, up
-- to the nearest that has one. The first step of a path is a domain (layer 0), the others are concepts; their names are
-- those of the steps. Parents first.
create or replace function loci_internal.plan_concepts(p_namespace_id integer, p_places loci_api.planned_place[],
                                                       p_settings jsonb)
returns table (path text, lineage text, content text, layer smallint, parent_id uuid, parent text)
language plpgsql stable set search_path = ''
as $$
begin
    return query
    with node as materialized (
        select * from loci_internal.category_concepts(p_namespace_id,
                                                      array(select distinct p.path from unnest(p_places) p
                                                            where p.path is not null), p_settings)
    ), wanted as (
        select n.*, a.path as above_path, a.lineage as above_lineage, a.concept_ids as above_ids
        from node n
        left join lateral (  -- the nearest above that has a concept, or will have one
            select u.* from node u where u.depth < n.depth and starts_with(n.path, u.path || '/')
                and (u.concept_ids is not null or u.is_due)
            order by u.depth desc limit 1) a on true
        where n.is_due and exists (
            select from unnest(p_places) p where (p.path = n.path or starts_with(p.path, n.path || '/'))
              and not exists (select from node b where b.concept_ids is not null and b.depth > n.depth
                              and (p.path = b.path or starts_with(p.path, b.path || '/'))))
    )
    select w.path, w.lineage, upper(left(s.name, 1)) || substr(s.name, 2), case when w.depth = 1 then 0
        else 1 end::smallint,
           w.above_ids[1],
           coalesce((select m.lineage from loci_data.memories m where m.namespace_id = p_namespace_id
                     and m.id = w.above_ids[1]), w.above_lineage)
    from wanted w
    cross join lateral (select translate(split_part(w.path, '/', w.depth), '_-', '  ') as name) s
    order by w.depth, w.path collate "C";
end $$;
comment on function loci_internal.plan_concepts(integer, loci_api.planned_place[], jsonb) is
    'Domains and concepts that planned places need, parents first.';
