-- Which entities does a model need to know that reads these texts? Those that the texts name (find_entities_in_text),
-- then the
-- most mentioned, at most p_limit. Cost: the texts, and one pass over the namespace's entities. Security definer: past
-- the policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit).
create or replace function loci_api.entity_catalogue(p_namespace text, p_texts text[], p_limit integer)
returns table (id uuid, name text, type text, aliases text[], mentions integer, named boolean)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'reader');
    v_named uuid[];
begin
    perform loci_internal.check_limit(p_limit, null, 0);
    v_named := array(
        select f.id from (select distinct on (n.id) n.id, t.place, n.position
                          from unnest(p_texts) with ordinality t(content, place)
                          cross join lateral loci_internal.find_entities_in_text(v_ns, t.content) n
                          order by n.id, t.place, n.position) f
        order by f.place, f.position, f.id limit p_limit);
    return query
    with named as (
        select e.*, u.place from unnest(v_named) with ordinality u(id, place)
        cross join lateral (select i.* from loci_data.entities i where i.namespace_id = v_ns and i.id = u.id
                            and i.merged_into is null and not i.hidden offset 0) e
    ), others as (
        select e.* from loci_data.entities e
        where e.namespace_id = v_ns and e.merged_into is null and not e.hidden and e.id <> all (v_named)
        order by e.mentions desc, e.id limit greatest(p_limit - cardinality(v_named), 0)
    )
    select n.id, n.name, n.type, n.aliases, n.mentions, true from named n
    union all
    select o.id, o.name, o.type, o.aliases, o.mentions, false from others o
    order by 6 desc, 5 desc, 1;
end $$;
comment on function loci_api.entity_catalogue(text, text[], integer) is
    'Entities that texts name, then the most mentioned ones. Errors: 42501, P0002, 22023.';
