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
