-- Pin an entity, or unpin it: pinned ones are always focal and never swept. Pinning twice keeps the first time. The id
-- of a merged one means the one that it went into. Security definer: writes past the policies; checks the caller
-- itself. Errors: 42501, P0002.
create or replace function loci_api.pin_entity(p_namespace text, p_id uuid, p_pinned boolean)
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
