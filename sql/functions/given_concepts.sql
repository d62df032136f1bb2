-- Which of the concepts that a model proposes have to be made? Those that can be and under which something will stand: an orphan, or another
-- of them under which one will. In the columns of plan_nodes, domains first, so parents first. Called by reflect; internal.
create or replace function loci.given_concepts(p_namespace_id integer, p_places loci.planned_place[], p_plan jsonb)
returns table (path text, lineage text, content text, layer smallint, parent_id uuid, parent text)
language plpgsql stable set search_path = ''
as $$
#variable_conflict use_column
begin
    if p_plan is null then
        return;
    end if;
    return query
    with node as materialized (
        select * from loci.given_nodes(p_namespace_id, p_plan)
    ), used as (
        select n.key, n.parent_key from node n where n.is_free and exists (select from unnest(p_places) p where p.parent = n.lineage and p.parent_id is null)
    )
    select null::text, n.lineage, n.content, n.layer, coalesce(n.parent_id, a.concept_id), case when a.is_free then a.lineage end
    from node n
    left join node a on a.key = n.parent_key and n.parent_id is null and a.layer = 0 and n.layer = 1
    where n.is_free and (n.key in (select u.key from used u) or n.layer = 0 and n.key in (select u.parent_key from used u))
    order by n.layer, n.lineage collate "C";
end $$;
comment on function loci.given_concepts(integer, loci.planned_place[], jsonb) is 'Concepts to make that a model proposes, parents first. Internal.';
