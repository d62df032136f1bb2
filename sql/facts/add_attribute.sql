-- Put a fact, or a constraint, under an aspect. It is valid from now, or from valid_from, and rests on a memory, if
-- stated. Active sibling facts that it contradicts are superseded, or decisions about them are proposed, as the setting
-- supersession says: see write_attribute. Security definer: writes past the policies; checks the caller itself. Errors:
-- 42501, P0002 (namespace, aspect, memory), 22023 naming the field, 23514 (valid_to before valid_from).
create or replace function loci_api.add_attribute(p_namespace text, p_aspect_id uuid, p_attribute jsonb)
returns table (id uuid, aspect_id uuid, kind text, content text, status text, superseded_by uuid, memory_id uuid,
               confidence double precision,
               importance double precision, valid_from timestamptz, valid_to timestamptz, recorded_at timestamptz,
               superseded_at timestamptz, updated_at timestamptz, observations integer, superseded uuid[],
               proposed uuid[])
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_new          record;
begin
    select w.* into v_new from loci_internal.write_attribute(v_namespace_id, p_aspect_id, p_attribute) w;
    return query select r.*, v_new.superseded, v_new.proposed
        from loci_internal.attribute_rows(v_namespace_id, p_aspect_id, 'infinity') r where r.id = v_new.id;
end $$;
comment on function loci_api.add_attribute(text, uuid, jsonb) is
    'Add an attribute or constraint to an aspect: {content, kind?, memory_id?, confidence?, importance?, valid_from?, '
    'valid_to?}; returns it, with the ids of attributes superseded and of decisions proposed. Errors: 42501, P0002, '
    '22023, 23514.';
