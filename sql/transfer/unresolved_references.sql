-- References of restored lines that no foreign key guards: a memory belongs to the lineage that its name says;
-- placements and links connect lineages that have memories; what waits to be read is there. row: place in p_lines, from
-- 1. One index probe a line. No errors.
create or replace function loci_internal.unresolved_references(p_namespace_id integer, p_kind text, p_lines jsonb)
returns table ("row" bigint, reason text)
language plpgsql stable set search_path = '' set enable_seqscan = off
as $$
begin
    if p_kind = 'memory' then
        return query
        select l.row, case when o.id is not null
            then format('lineage: %L is the lineage %s with %s versions here', l.line ->> 'lineage', o.id, o.versions)
                           else format('lineage: there is no lineage %L', l.line ->> 'lineage') end
        from jsonb_array_elements(p_lines) with ordinality l(line, row)
        left join lateral (select n.id, n.versions from loci_data.lineages n
                           where n.namespace_id = p_namespace_id and n.lineage = l.line ->> 'lineage' limit 1) o on true
        where case when o.id is not null then o.id::text <> l.line ->> 'lineage_id'
          or o.versions < (l.line ->> 'version')::integer
                   else l.line ->> 'lineage' <> l.line ->> 'id' or l.line ->> 'lineage_id' <> l.line ->> 'id' end;
    elsif p_kind in ('placement', 'link') then
        return query
        select l.row, format('%s: there is no lineage %s', e.field, l.line ->> e.field)
        from jsonb_array_elements(p_lines) with ordinality l(line, row)
        cross join unnest(case p_kind when 'placement' then array['node_id', 'parent_id']
                          else array['source_id', 'target_id'] end) e(field)
        where (select m.id from loci_data.memories m
               where m.namespace_id = p_namespace_id and m.lineage_id = (l.line ->> e.field)::uuid limit 1) is null;
    elsif p_kind in ('name_candidate', 'name_queue') then
        return query
        select l.row, format('memory_id: there is no memory %s', l.line ->> 'memory_id')
        from jsonb_array_elements(p_lines) with ordinality l(line, row)
        where (select m.id from loci_data.memories m
               where m.namespace_id = p_namespace_id and m.id = (l.line ->> 'memory_id')::uuid) is null;
    end if;
end $$;
comment on function loci_internal.unresolved_references(integer, text, jsonb) is
    'Restored lines that refer to memories or lineages that are not there.';
