-- Concepts that a model proposes (reflect, p_plan), as they fit what is there: the lineage that each would have, by its
-- title; the memory that has that lineage now and may stand above others (concept_id); and whether it can be made
-- (is_free): what somebody forgot is not made again. A parent that is gone, or of a narrower layer, is none. A probe of
-- indexes for each.
create or replace function loci_internal.proposed_nodes(p_namespace_id integer, p_plan jsonb)
returns table (key text, lineage text, content text, layer smallint, parent_id uuid, parent_key text, concept_id uuid,
               is_free boolean)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_now loci_internal.memory_filter := loci_internal.filter_at(clock_timestamp(), null);
begin
    return query
    with given as (
        select g.*, 'concept/' || case when s.slug = '' or length(s.slug) > 200 then md5(lower(g.title))
            else s.slug end as lineage
        from jsonb_to_recordset(coalesce(p_plan -> 'concepts', '[]')) g(key text, title text, layer smallint,
                                                                        parent_id uuid, parent_key text, summary text)
        cross join lateral (select trim(regexp_replace(lower(g.title), '[^[:alnum:]]+', '-', 'g'), '-') as slug) s
    )
    select distinct on (g.lineage) g.key, g.lineage, concat_ws(E'\n', g.title, g.summary), g.layer, above.id,
                    g.parent_key, c.id,
           not exists (select from loci_data.memories m where m.namespace_id = p_namespace_id and m.lineage = g.lineage)
    from given g
    left join lateral (select m.id from loci_data.memories m where m.namespace_id = p_namespace_id
                       and m.id = g.parent_id
                         and m.layer <= g.layer and loci_internal.memory_is_visible(m, v_now) limit 1) above on true
    left join lateral (select m.id from loci_data.memories m where m.namespace_id = p_namespace_id
                       and m.lineage = g.lineage
                         and m.layer <= 1 and loci_internal.memory_is_visible(m, v_now)
                       order by m.version desc limit 1) c on true
    where g.layer in (0, 1)
    order by g.lineage, g.key;
end $$;
comment on function loci_internal.proposed_nodes(integer, jsonb) is
    'Concepts that a model proposes, as they fit what is there.';
