-- What is a walk about? (Row S3.) The first of these that gives any: the entities of a checkpoint that are known, in its order, merged ones as
-- what they were merged into; the
-- projects that a path names (settings focal_projects); the entities that a query means (focal_entities). Then the pinned ones
-- (row S2), pinned last first, at most 10,000. source: what gave an entity; pinned for those that nothing else gave.
-- Bounded, whatever the namespace holds. Index entities_pinned. Called by focal_entities and recall_walk; internal.
create or replace function loci.resolve_focal(
    p_namespace_id integer, p_query text, p_project_path text, p_checkpoint uuid[])
returns table (id uuid, pinned boolean, source text, ordinal bigint)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_settings jsonb := loci.settings(p_namespace_id);
    v_source   text := 'checkpoint';
    v_ids      uuid[] := array(
        select k.id
        from (select case when e.merged_into is null then e.id else loci.kept_id(p_namespace_id, e.id) end as id, min(c.place) as place
              from unnest(p_checkpoint[:1000]) with ordinality c(id, place)
              cross join lateral (select o.id, o.merged_into from loci_data.entities o
                                  where o.namespace_id = p_namespace_id and o.id = c.id limit 1) e
              group by 1) k
        where k.id is not null order by k.place);
begin
    if cardinality(v_ids) = 0 and p_project_path is not null then
        v_source := 'project';
        v_ids := loci.project_entities(p_namespace_id, p_project_path, (v_settings ->> 'focal_projects')::integer);
    end if;
    if cardinality(v_ids) = 0 and p_query is not null then
        v_source := 'query';
        v_ids := loci.query_entities(p_namespace_id, p_query, (v_settings ->> 'focal_entities')::integer);
    end if;
    return query
    with pin as materialized (
        select p.*, row_number() over (order by p.pinned_at desc, p.mentions desc, p.id) as place
        from (select e.id, e.pinned_at, e.mentions from loci_data.entities e
              where e.namespace_id = p_namespace_id and e.pinned_at is not null and e.merged_into is null order by e.pinned_at desc, e.id desc limit 10000) p
    )
    select coalesce(f.id, p.id), p.id is not null, case when f.id is null then 'pinned' else v_source end,
           row_number() over (order by f.place, p.place)
    from unnest(v_ids) with ordinality f(id, place)
    full join pin p on p.id = f.id
    order by f.place, p.place;
end $$;
comment on function loci.resolve_focal(integer, text, text, uuid[]) is 'Focal entities of a walk, in order. Internal.';
