-- One entity by id, name or alias. Two look-ups.
-- Security definer: the hot path, past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci.get_entity(p_namespace text, p_ref text)
returns table (id uuid, name text, canonical_name text, type text, aliases text[], description text, confidence double precision,
               mentions integer, observations integer, pinned boolean, pinned_at timestamptz, metadata jsonb,
               created_at timestamptz, updated_at timestamptz, last_referenced_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci.authorize(p_namespace, 'reader');
begin
    return query
    select e.* from loci.entity_rows(v_namespace_id, loci.resolve_entities(v_namespace_id, array[p_ref], 'entity')) e;
end $$;
comment on function loci.get_entity(text, text) is 'The entity with this id, name or alias. Errors: 42501, P0002.';
