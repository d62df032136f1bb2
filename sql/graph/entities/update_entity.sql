-- Change what an entity says of itself: name, type, aliases, description, metadata, confidence. A field that is given
-- replaces the old value; the id of a merged one means the one that it went into; null clears description and metadata.
-- A new name makes the old one an alias, so that it still leads here: the last of those that there are, or of those
-- that are stated with it. Only aliases stated later, without it, give it up; another spelling of one name adds none.
-- Names follow by trigger. confidence is set outright, whatever was observed. Security definer: writes past the
-- policies; checks the caller itself. Errors: 42501, P0002, 22023 (more than 100 aliases, too), 23505 (name is taken),
-- 23514.
create or replace function loci_api.update_entity(p_namespace text, p_id uuid, p_changes jsonb)
returns table (id uuid, name text, canonical_name text, type text, aliases text[], description text,
               confidence double precision,
               mentions integer, observations integer, pinned boolean, pinned_at timestamptz, metadata jsonb,
               first_seen_at timestamptz, created_at timestamptz, updated_at timestamptz,
               last_referenced_at timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_id           uuid := loci_internal.surviving_entity_id(v_namespace_id, p_id);
    v_old          loci_data.entities;
    v_new          record;
    v_aliases      text[];
    v_field        text := (select k from jsonb_object_keys(p_changes) k
                            where k not in ('name', 'type', 'aliases', 'description', 'metadata', 'confidence')
                            order by k limit 1);
begin
    select e.* into v_old from loci_data.entities e where e.namespace_id = v_namespace_id and e.id = v_id
        for no key update;
    if not found then
        raise no_data_found using message = format('entity %s does not exist', p_id), column = 'id';
    elsif v_field is not null then
        raise invalid_parameter_value using message = format('an entity has no field %L to change', v_field),
            column = v_field;
    end if;
    v_field := (select k from unnest(array['name', 'type', 'confidence', 'aliases']) k
                where p_changes -> k = 'null' limit 1);
    if v_field is not null then
        raise invalid_parameter_value using message = format('%s must not be null', v_field), column = v_field;
    end if;
    select * into v_new
    from loci_internal.parse_entities(jsonb_build_array(jsonb_build_object('name', v_old.name) || p_changes));
    if exists (select from loci_data.entities e
               where e.namespace_id = v_namespace_id and e.canonical_name = v_new.canonical_name
                 and e.merged_into is null and e.id <> v_id) then
        raise unique_violation using message = format('an entity named %L exists', v_new.name), column = 'name',
            constraint = 'entities_canonical_name_key', hint = 'Merge the two instead.';
    end if;
    v_aliases := loci_internal.clean_aliases(
        case when p_changes ? 'aliases' then v_new.aliases else v_old.aliases end || v_old.name, v_new.canonical_name);
    if cardinality(v_aliases) > 100 and v_new.canonical_name <> v_old.canonical_name then
        raise invalid_parameter_value using column = 'name',
            message = format('%L would have %s aliases, with its old name; an entity has at most 100', v_new.name,
                             cardinality(v_aliases)),
            hint = 'State fewer aliases in the same change.';
    end if;
    update loci_data.entities e
    set name = v_new.name, canonical_name = v_new.canonical_name, type = coalesce(v_new.type, e.type),
        aliases = v_aliases,
        description = case when p_changes ? 'description' then v_new.description else e.description end,
        metadata = case when p_changes ? 'metadata' then coalesce(nullif(v_new.metadata, 'null'), '{}')
            else e.metadata end,
        confidence = coalesce(v_new.confidence, e.confidence), initial_confidence =
            coalesce(v_new.confidence, e.initial_confidence),
        updated_at = greatest(e.updated_at, clock_timestamp())
    where e.namespace_id = v_namespace_id and e.id = v_id;
    return query select e.* from loci_internal.entity_rows(v_namespace_id, array[v_id], 'infinity') e;
end $$;
comment on function loci_api.update_entity(text, uuid, jsonb) is
    'Change an entity: {name?, type?, aliases?, description?, metadata?, confidence?}; returns it. Errors: 42501, '
    'P0002, 22023, 23505.';
