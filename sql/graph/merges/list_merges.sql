-- Merges and splits of a namespace, or of an entity, the newest first, undone ones included: a page at a time. cursor,
-- on every row, is what to send for the page that starts after it. Ranges of the primary key, entity_merges_kept and
-- entity_merges_merged. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023
-- (limit, cursor).
create or replace function loci.list_merges(p_namespace text, p_entity text default null, p_limit integer default 50,
                                            p_cursor text default null)
returns table (id uuid, kind text, kept_id uuid, kept text, merged_id uuid, merged text, reason text,
               automatic boolean, edges integer, mentions integer,
               decided_at timestamptz, decided_by uuid, undone_at timestamptz, cursor text)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_before uuid;
    v_entity uuid := (loci_internal.resolve_entities(v_ns, array_remove(array[p_entity], null), 'entity'))[1];
begin
    perform loci_internal.check_page(p_limit);
    v_before := coalesce((loci_internal.read_cursor(p_cursor, 'uuid'))[1], 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    return query
    select m.id, m.kind, m.kept_id, k.name, m.merged_id, g.name, m.reason, m.automatic,
           (select count(*)::integer from loci_data.edge_moves v
            where v.namespace_id = v_ns and v.merge_id = m.id and v.part in ('moved', 'loop')),
           jsonb_array_length(coalesce(m.moved -> 'mentions', '[]')), m.decided_at, m.decided_by, m.undone_at,
           loci_internal.make_cursor(jsonb_build_array(m.id))
    from (select o.* from loci_data.entity_merges o
          where o.namespace_id = v_ns and (v_entity is null or v_entity in (o.kept_id, o.merged_id)) and o.id < v_before
          order by o.id desc limit p_limit) m
    join loci_data.entities k on k.namespace_id = v_ns and k.id = m.kept_id
    join loci_data.entities g on g.namespace_id = v_ns and g.id = m.merged_id
    order by m.id desc;
end $$;
comment on function loci.list_merges(text, text, integer, text) is
    'Merges and splits, newest first, with names; cursor pages. Errors: 42501, P0002, 22023.';
