-- Which existing entities do items mean whose own names are new, because an alias of theirs is the name of one?
-- p_items: JSON array of {ordinal, canonical_name, aliases}. An alias that several share means nobody. One look-up a
-- name and alias: entity_names, entities_canonical_name_key. Errors: 23505 (aliases are names of several).
create or replace function loci_internal.resolve_new_names(p_namespace_id integer, p_items jsonb)
returns table (canonical_name text, id uuid)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_one record;
begin
    for v_one in
        select i.canonical_name, min(i.ordinal) as ordinal, array_agg(distinct e.id) as ids,
               array_agg(distinct e.name) as names
        from jsonb_to_recordset(p_items) i(ordinal integer, canonical_name text, aliases text[])
        cross join lateral unnest(i.aliases) a(alias)
        cross join lateral (select x.id, x.name from loci_data.entities x
                            where x.namespace_id = p_namespace_id and x.merged_into is null
                              and x.canonical_name = loci.canonical_name(a.alias) limit 1) e
        where not exists (select from loci_data.entity_names k
                          where k.namespace_id = p_namespace_id
                            and (k.canonical_name, k.entity_id) >= (i.canonical_name, loci_internal.nil_uuid())
                            and (k.canonical_name, k.entity_id)
                                <= (i.canonical_name, 'ffffffff-ffff-ffff-ffff-ffffffffffff') offset 0)
        group by i.canonical_name order by 2
    loop
        if cardinality(v_one.ids) > 1 then
            raise unique_violation using column = format('entities[%s].aliases', v_one.ordinal - 1),
                message = format('entities[%s].aliases are the names of several entities: %s', v_one.ordinal - 1,
                                 array_to_string(v_one.names, ', ')),
                hint = 'Merge them first, or state the aliases of one.';
        end if;
        canonical_name := v_one.canonical_name;
        id := v_one.ids[1];
        return next;
    end loop;
end $$;
comment on function loci_internal.resolve_new_names(integer, jsonb) is
    'Entities that items with new names mean by their aliases. Errors: 23505.';
