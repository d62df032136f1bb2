-- Where orphans should stand, by rules (p_places) and as a model proposes (p_plan). The rules' place stands where it
-- comes from the category, which somebody chose. Else the model's: a current domain or concept, or one that it proposes
-- and that can be made. Where it says nothing that fits, the rules' again.
create or replace function loci_internal.proposed_placements(p_namespace_id integer, p_orphans loci_api.orphan[],
                                                             p_places loci_api.planned_place[], p_plan jsonb)
returns setof loci_api.planned_place
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_now loci_internal.memory_filter := loci_internal.filter_at(clock_timestamp(), null);
begin
    if p_plan is null then
        return query select p.* from unnest(p_places) p;
        return;
    end if;
    return query
    with node as materialized (
        select * from loci_internal.proposed_nodes(p_namespace_id, p_plan)
    ), given as (
        select distinct on (g.memory_id) g.memory_id, c.id as parent_id, coalesce(c.lineage, n.lineage) as parent
        from jsonb_to_recordset(coalesce(p_plan -> 'places', '[]')) g(memory_id uuid, parent_id uuid, key text)
        left join node n on n.key = g.key
        left join lateral (select m.id, m.lineage from loci_data.memories m where m.namespace_id = p_namespace_id
                             and m.id = coalesce(g.parent_id, n.concept_id) and m.layer <= 1
                             and loci_internal.memory_is_visible(m, v_now) limit 1) c on true
        where c.id is not null or n.is_free
        order by g.memory_id, parent
    )
    select o.id, o.node_id, case when g.memory_id is null then p.parent_id else g.parent_id end,
           coalesce(g.parent, p.parent),
           case when g.memory_id is null then p.path end, case when g.memory_id is null then p.similarity end,
           case when g.memory_id is null then p.reason else 'a model says so' end
    from unnest(p_orphans) o
    left join unnest(p_places) p on p.memory_id = o.id
    left join given g on g.memory_id = o.id and (p.memory_id is null or p.reason in ('means the same', 'says its name'))
    where g.memory_id is not null or p.memory_id is not null
    order by o.doc_id;
end $$;
comment on function loci_internal.proposed_placements(integer, loci_api.orphan[], loci_api.planned_place[], jsonb) is
    'Where orphans should stand, by rules and as a model proposes.';
