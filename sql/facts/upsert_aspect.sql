-- Give an entity an aspect, or change the one it has by this name: upsert by canonical name. Fields that are not stated
-- keep their values; the name stays as first written. single_valued null: the words of its attributes decide; declared
-- later, it holds for what is written from then on, and a sweep applies it to what is there. Security definer: writes
-- past the policies; checks the caller itself. Errors: 42501, P0002 (namespace, entity), 22023 naming the field.
create or replace function loci_api.upsert_aspect(p_namespace text, p_entity text, p_aspect jsonb)
returns table (id uuid, entity_id uuid, name text, canonical_name text, weight double precision, single_valued boolean,
               confirmed_at timestamptz, created_at timestamptz, updated_at timestamptz, created boolean)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_entity_id    uuid := (loci_internal.resolve_entities(v_namespace_id, array[p_entity], 'entity'))[1];
    v_fault        text := case when p_aspect ->> 'name' is null then 'name'
                                else loci_internal.first_invalid_attribute_field(p_aspect,
                                    '{name,weight,single_valued}') end;
    v_id           uuid := loci_api.uuid7();
    v_at           timestamptz := clock_timestamp();
begin
    if v_fault is not null then
        raise invalid_parameter_value using
            message = format('%s: %s is not valid for an aspect', v_fault, coalesce(p_aspect -> v_fault, 'null')),
            column = v_fault;
    end if;
    return query
    insert into loci_data.aspects as a (namespace_id, id, entity_id, name, canonical_name, weight, single_valued,
                                        created_at, updated_at)
    values (v_namespace_id, v_id, v_entity_id, btrim(p_aspect ->> 'name'), loci.canonical_name(p_aspect ->> 'name'),
            coalesce((p_aspect ->> 'weight')::double precision, 0.5), (p_aspect ->> 'single_valued')::boolean, v_at,
            v_at)
    on conflict (namespace_id, entity_id, canonical_name) do update
    set weight = case when p_aspect ? 'weight' then excluded.weight else a.weight end,
        single_valued = case when p_aspect ? 'single_valued' then excluded.single_valued else a.single_valued end,
        updated_at = greatest(a.updated_at, v_at)
    returning a.id, a.entity_id, a.name, a.canonical_name, a.weight, a.single_valued, a.confirmed_at, a.created_at,
              a.updated_at, a.id = v_id;
end $$;
comment on function loci_api.upsert_aspect(text, text, jsonb) is
    'Upsert an aspect of an entity: {name, weight?, single_valued?}; returns it and whether it is new. Errors: 42501, '
    'P0002, 22023.';
