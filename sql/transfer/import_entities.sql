-- Entities out of another system's file. An entity that is known by name or alias keeps its description and metadata,
-- gains what they lack, and is not observed again. So a repetition writes nothing, whichever of two files comes last.
-- Set-based; a look-up by name an item. Security definer: writes past the policies; checks the caller itself. Errors:
-- 42501, P0002 (namespace), 22023.
create or replace function loci_api.import_entities(p_namespace text, p_entities jsonb)
returns table (ordinal integer, id uuid, outcome text)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns      integer := loci_internal.authorize(p_namespace, 'writer');
    v_at      timestamptz := clock_timestamp();
    v_written jsonb;
begin
    select jsonb_agg(jsonb_build_object('ordinal', d.ordinal, 'id', d.id, 'name', d.name, 'created', d.created)
                     order by d.ordinal) into v_written
    from loci_internal.describe_entities(v_ns, loci_internal.new_of_entities(v_ns, p_entities), v_at) d;
    perform loci_internal.observe_entities(v_ns, array_agg(
        ((w ->> 'id')::uuid, null, null, null, null, w ->> 'name')::loci_internal.sighting
            order by (w ->> 'ordinal')::integer), v_at)
    from jsonb_array_elements(v_written) w where (w ->> 'created')::boolean having count(*) > 0;
    return query select (w ->> 'ordinal')::integer, (w ->> 'id')::uuid,
                        case when (w ->> 'created')::boolean then 'written' else 'there' end
                 from jsonb_array_elements(v_written) w order by 1;
end $$;
comment on function loci_api.import_entities(text, jsonb) is
    'Write entities of another system''s file: JSON array of {name, type?, aliases?, description?, metadata?}. One row '
    'an item, ordinal from 1: written or there. Errors: 42501, P0002, 22023.';

-- Items of an import without what is said already of the entities that they name.
create or replace function loci_internal.new_of_entities(p_namespace_id integer, p_entities jsonb) returns jsonb
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select jsonb_agg(case when k.id is null then i.item else
        i.item - case when k.description is null then '{}' else array['description'] end
        || jsonb_build_object('metadata', coalesce(nullif(i.item -> 'metadata', 'null'), '{}')
                                          - array(select jsonb_object_keys(k.metadata))) end order by i.ordinal)
    from jsonb_array_elements(p_entities) with ordinality i(item, ordinal)
    left join lateral (
        select e.id, e.description, e.metadata from loci_data.entities e
        where e.namespace_id = p_namespace_id
          and e.id = loci_internal.find_entity_id(p_namespace_id, i.item ->> 'name') limit 1) k on true
$$;
comment on function loci_internal.new_of_entities(integer, jsonb) is
    'Entities of an import, without descriptions and metadata that are there.';
