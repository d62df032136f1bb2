-- Which projects does a path name? (Row S3.) Its last three segments, compared with the names of entities of type project, hyphens,
-- underscores and dots as spaces: a name that is a segment before one that contains one, then the segment nearest the end, then
-- the most mentioned. Bounded: names by index entity_names_pkey, parts of names among the 10,000 newest projects
-- (entities_projects). At most p_limit. Called by resolve_focal; internal.
create or replace function loci.project_entities(p_namespace_id integer, p_path text, p_limit integer) returns uuid[]
language sql stable set search_path = ''
as $$
    with segment as (
        select s.place, loci.canonical_name(s.text) as name, loci.canonical_name(translate(s.text, '-_.', '   ')) as folded
        from regexp_split_to_table(right(p_path, 4000), '[/\\]+') with ordinality s(text, place)
        where loci.canonical_name(translate(s.text, '-_.', '   ')) <> ''
        order by s.place desc limit 3
    ), named as (
        select k.entity_id as id, true as whole, s.place
        from segment s
        cross join lateral (
            select n.entity_id from loci_data.entity_names n
            where n.namespace_id = p_namespace_id and n.canonical_name = any(array[s.name, s.folded])
            order by n.entity_id limit 50) k
    ), project as materialized (
        select e.id, translate(e.canonical_name, '-_.', '   ') as folded from loci_data.entities e
        where e.namespace_id = p_namespace_id and e.type = 'project' and e.merged_into is null order by e.id desc limit 10000
    ), found as (
        select n.* from named n
        union all
        select p.id, p.folded = s.folded, s.place from segment s join project p on strpos(p.folded, s.folded) > 0
        where length(s.folded) >= 3
    )
    select array(
        select e.id
        from (select f.id, max(f.place) filter (where f.whole) as whole, max(f.place) as part from found f group by f.id) f
        cross join lateral (select o.id, o.mentions from loci_data.entities o
                            where o.namespace_id = p_namespace_id and o.id = f.id and o.type = 'project' limit 1) e
        order by f.whole desc nulls last, f.part desc, e.mentions desc, e.id limit p_limit)
$$;
comment on function loci.project_entities(integer, text, integer) is 'Projects that a path names, best first. Internal.';
