-- Take an entity out of the graph: from now on its id, name and aliases lead nowhere, and the name is free. Its edges
-- are no longer believed, its attributes are deleted; the memories that mention it stay. History keeps all of it
-- (known_at, entity_timeline), and undoing the operation brings it back. Erasing memories is what erases. The id of a
-- merged one means the one that it went into. Returns the entity as it was. Security definer: writes past the policies;
-- checks the caller itself. Errors: 42501, P0002, 40001 (merged at this moment).
create or replace function loci_api.delete_entity(p_namespace text, p_id uuid)
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
