-- Changes of entities: update, pin, touch, deletion.

-- Refuse fields that no entity has, and nulls where it must have a value. Errors: 22023 naming the field.
create or replace function loci_internal.check_entity_fields(p_changes jsonb) returns void
language plpgsql immutable set search_path = ''
as $$
declare
    v_unknown text := (select k from jsonb_object_keys(p_changes) k
                       where k not in ('name', 'type', 'aliases', 'description', 'metadata', 'confidence')
                       order by k limit 1);
    v_null    text := (select k from unnest(array['name', 'type', 'confidence', 'aliases']) k
                       where p_changes -> k = 'null' limit 1);
begin
    if v_unknown is not null then
        raise invalid_parameter_value using message = format('an entity has no field %L to change', v_unknown),
            column = v_unknown;
    elsif v_null is not null then
        raise invalid_parameter_value using message = format('%s must not be null', v_null), column = v_null;
    end if;
end $$;
comment on function loci_internal.check_entity_fields(jsonb) is
    'Refuse changes that no entity can have.';

-- Change what an entity says of itself: name, type, aliases, description, metadata, confidence. A field that is given
-- replaces the old value; the id of a merged one means the one that it went into; null clears description and metadata.
-- A new name makes the old one an alias, so that it still leads here: the last of those that there are, or of those
-- that are stated with it. Only aliases stated later, without it, give it up; another spelling of one name adds none.
-- Names follow by trigger. confidence is set outright, whatever was observed. Security definer: writes past the
-- policies; checks the caller itself. Errors: 42501, P0002, 22023 (more than 100 aliases, too), 23505 (name is taken),
-- 23514.
create or replace function loci_api.update_entity(p_namespace text, p_id uuid, p_changes jsonb)
returns table (id uuid, name text, canonical_name text, type text, aliases text[], description text,
               confidence double precision, mentions integer, observations integer, pinned boolean,
               pinned_at timestamptz, metadata jsonb, first_seen_at timestamptz, created_at timestamptz,
               updated_at timestamptz, last_referenced_at timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_id           uuid := loci_internal.surviving_entity_id(v_namespace_id, p_id);
    v_old          loci_data.entities;
    v_new          record;
    v_aliases      text[];
begin
    select e.* into v_old from loci_data.entities e where e.namespace_id = v_namespace_id and e.id = v_id
        for no key update;
    if not found then
        raise no_data_found using message = format('entity %s does not exist', p_id), column = 'id';
    end if;
    perform loci_internal.check_entity_fields(p_changes);
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

-- Take an entity out of the graph: from now on its id, name and aliases lead nowhere, and the name is free. Its edges
-- are no longer believed, its attributes are deleted; the memories that mention it stay. History keeps all of it
-- (known_at, entity_timeline), and undoing the operation brings it back. Erasing memories is what erases. The id of a
-- merged one means the one that it went into. Returns the entity as it was. Security definer: writes past the policies;
-- checks the caller itself. Errors: 42501, P0002, 40001 (merged at this moment).
create or replace function loci_api.delete_entity(p_namespace text, p_id uuid)
returns table (id uuid, name text, canonical_name text, type text, aliases text[], description text,
               confidence double precision, mentions integer, observations integer, pinned boolean,
               pinned_at timestamptz, metadata jsonb, first_seen_at timestamptz, created_at timestamptz,
               updated_at timestamptz, last_referenced_at timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_id           uuid := loci_internal.surviving_entity_id(v_namespace_id, p_id);
begin
    return query select e.* from loci_internal.entity_rows(v_namespace_id, array[v_id], 'infinity') e;
    if not found or loci_internal.remove_entities(v_namespace_id, array[v_id], clock_timestamp()) = '{}' then
        if loci_internal.surviving_entity_id(v_namespace_id, p_id) is not null then  -- while this waited for its lock
            raise serialization_failure using hint = 'Try again.',
                message = format('entity %s was merged into another while it was removed', p_id);
        end if;
        raise no_data_found using message = format('entity %s does not exist', p_id), column = 'id';
    end if;
end $$;
comment on function loci_api.delete_entity(text, uuid) is
    'Take an entity out of the graph, with its edges and attributes; history keeps it. Returns it as it was. Errors: '
    '42501, P0002, 40001.';

-- Pin an entity, or unpin it: pinned ones are always focal and never swept. Pinning twice keeps the first time. The id
-- of a merged one means the one that it went into. Security definer: writes past the policies; checks the caller
-- itself. Errors: 42501, P0002.
create or replace function loci_api.pin_entity(p_namespace text, p_id uuid, p_pinned boolean)
returns table (id uuid, name text, canonical_name text, type text, aliases text[], description text,
               confidence double precision, mentions integer, observations integer, pinned boolean,
               pinned_at timestamptz, metadata jsonb, first_seen_at timestamptz, created_at timestamptz,
               updated_at timestamptz, last_referenced_at timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_id           uuid := loci_internal.surviving_entity_id(v_namespace_id, p_id);
begin
    update loci_data.entities e
    set pinned = p_pinned, pinned_at = case when p_pinned then coalesce(e.pinned_at, clock_timestamp()) end,
        updated_at = case when e.pinned = p_pinned then e.updated_at else greatest(e.updated_at, clock_timestamp()) end
    where e.namespace_id = v_namespace_id and e.id = v_id;
    if not found then
        raise no_data_found using message = format('entity %s does not exist', p_id), column = 'id';
    end if;
    return query select e.* from loci_internal.entity_rows(v_namespace_id, array[v_id], 'infinity') e;
end $$;
comment on function loci_api.pin_entity(text, uuid, boolean) is
    'Pin or unpin an entity; returns it. Errors: 42501, P0002.';

-- A text has just matched these entities: note when. Returns how many there are; a merged one counts for the one that
-- it went into. updated_at stays: nothing about them changed. Security definer: writes past the policies; checks the
-- caller itself.
create or replace function loci_api.touch_entities(p_namespace text, p_ids uuid[]) returns integer
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
-- one look-up an entity, however many there are
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_touched      integer;
begin
    with locked as materialized (
        select e.id from (select distinct loci_internal.surviving_entity_id(v_namespace_id, i.id) as id
                          from unnest(p_ids) i(id)) k
        join loci_data.entities e on e.namespace_id = v_namespace_id and e.id = k.id
        order by e.canonical_name for no key update of e
    )
    update loci_data.entities e set last_referenced_at = clock_timestamp()
    from locked l where e.namespace_id = v_namespace_id and e.id = l.id;
    get diagnostics v_touched = row_count;
    return v_touched;
end $$;
comment on function loci_api.touch_entities(text, uuid[]) is
    'Set last_referenced_at of entities to now; returns how many exist. Errors: 42501, P0002.';

-- Write entities by hand: one or thousands, upserted by name or alias. Names of any length. See save_entities. Security
-- definer: writes past the policies; checks the caller itself.
create or replace function loci_api.upsert_entities(p_namespace text, p_entities jsonb)
returns table (ordinal integer, id uuid, name text, created boolean)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
begin
    return query select s.* from loci_internal.save_entities(v_namespace_id, p_entities, clock_timestamp()) s;
end $$;
comment on function loci_api.upsert_entities(text, jsonb) is
    'Upsert entities: JSON array of {name, type?, aliases?, description?, metadata?, confidence?, session_id?, '
    'memory_id?, seen_at?}; seen_at is when it dates from, if not now; one row an item, ordinal from 1. Errors: '
    '42501, P0002, 22023.';
