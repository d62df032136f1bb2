-- Edges out of another system's file that no memory states. Those whose triple is believed are left alone, so a
-- repetition writes nothing. entities_written, in the first row: entities that are new because they are ends. Two
-- look-ups by name an item, three more for a new edge; the rest is observe_edges. Security definer: writes past the
-- policies; checks the caller itself. Errors: those of observe_edges.
create or replace function loci_api.import_edges(p_namespace text, p_edges jsonb)
returns table (ordinal integer, id uuid, outcome text, entities_written integer)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'writer');
    v_at    timestamptz := clock_timestamp();
    v_made  integer := 0;
    v_items jsonb;
    v_new   jsonb;
begin
    select jsonb_agg(jsonb_build_object('ordinal', e.ordinal, 'item', e.item, 'id', e.id,
                                        'new', e.id is null and e.nth = 1)
                     order by e.ordinal) into v_items
    from (select i.ordinal, i.item, f.id,
                 row_number() over (partition by loci.canonical_name(i.item ->> 'source'),
                                                 loci.canonical_type(i.item ->> 'type'),
                                                 loci.canonical_name(i.item ->> 'target') order by i.ordinal) as nth
          from jsonb_array_elements(p_edges) with ordinality i(item, ordinal)
          cross join lateral (select loci_internal.find_edge_id(
              v_ns, loci_internal.find_entity_id(v_ns, i.item ->> 'source'), loci.canonical_type(i.item ->> 'type'),
              loci_internal.find_entity_id(v_ns, i.item ->> 'target'), null) as id offset 0) f) e;
    v_new := (select jsonb_agg(v -> 'item' order by (v ->> 'ordinal')::integer) from jsonb_array_elements(v_items) v
              where (v ->> 'new')::boolean);
    if v_new is not null then
        perform count(*) from loci_api.observe_edges(p_namespace, v_new);
        select count(*) into v_made
        from (select distinct loci_internal.find_entity_id(v_ns, n.name) as id from jsonb_array_elements(v_new) i(item)
              cross join lateral (values (i.item ->> 'source'), (i.item ->> 'target')) n(name)) f
        join loci_data.entities e on e.namespace_id = v_ns and e.id = f.id and e.created_at >= v_at;
    end if;
    return query select (v ->> 'ordinal')::integer, (v ->> 'id')::uuid,
                        case when (v ->> 'new')::boolean then 'written' else 'there' end,
                        case when (v ->> 'ordinal')::integer = 1 then v_made else 0 end
                 from jsonb_array_elements(v_items) v order by 1;
end $$;
comment on function loci_api.import_edges(text, jsonb) is
    'Write edges of another system''s file that are not believed yet: JSON array of {source, type, target}. One row an '
    'item, ordinal from 1: written or there, and how many entities are new. Errors: those of observe_edges.';
