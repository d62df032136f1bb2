-- Which memories stand for the category paths that orphans are in, and which paths should have one? Every path and its
-- prefixes, but for `general`, which says nothing. concept_ids: current domains and concepts (layers 0 and 1) of that
-- category, those that reflect made first. is_due: there is none, enough facts and episodes are in it or below
-- (reflect_new), and the lineage that reflect would give it is free: what somebody forgot is not made again. An index
-- range for each path.
create or replace function loci_internal.category_concepts(p_namespace_id integer, p_categories text[],
                                                           p_settings jsonb)
returns table (path text, depth integer, lineage text, concept_ids uuid[], is_due boolean)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_now loci_internal.memory_filter := loci_internal.filter_at(clock_timestamp(), null);
begin
    return query
    with step as (
        select distinct array_to_string(s.steps[:d], '/') as path, d as depth
        from (select string_to_array(c, '/') as steps from unnest(p_categories) c where c <> 'general') s
        cross join generate_series(1, cardinality(s.steps)) d
    ), named as (
        select s.path, s.depth, case when length(s.path) <= 240 then 'category/' || s.path
            else 'category/' || md5(s.path) end as lineage from step s
    )
    select n.path, n.depth, n.lineage, c.ids,
           c.ids is null
           and not exists (select from loci_data.memories m where m.namespace_id = p_namespace_id
                           and m.lineage = n.lineage)
           and (select count(*) from (
                    select from loci_data.memories m
                    where m.namespace_id = p_namespace_id and m.category collate "C" = n.path and m.layer >= 2
                      and loci_internal.memory_is_visible(m, v_now)
                    union all
                    select from loci_data.memories m
                    where m.namespace_id = p_namespace_id and m.category collate "C" > n.path || '/'
                      and m.category collate "C" < n.path || '0'
                      and m.layer >= 2 and loci_internal.memory_is_visible(m, v_now)
                    limit (p_settings ->> 'reflect_new')::integer) f) >= (p_settings ->> 'reflect_new')::integer
    from named n
    cross join lateral (
        select array_agg(m.id order by m.lineage <> n.lineage, m.doc_id) as ids from loci_data.memories m
        where m.namespace_id = p_namespace_id and m.category collate "C" = n.path and m.layer <= 1
          and loci_internal.memory_is_visible(m, v_now)) c;
end $$;
comment on function loci_internal.category_concepts(integer, text[], jsonb) is
    'Concepts of category paths, and paths that should have one.';
