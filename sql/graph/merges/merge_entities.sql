-- Two entities are one: p_from goes into p_into; both by id, name or alias. Returns the id of the merge, to undo it by,
-- and the entity that stays. See apply_entity_merge for what becomes of everything. Two agents at once: the second
-- finds
-- them merged. Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002, 22023, 23505
-- (they are one already), 40001.
create or replace function loci_api.merge_entities(p_namespace text, p_into text, p_from text,
                                                   p_reason text default null)
returns table (merge_id uuid, id uuid)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_kept         uuid;
    v_merged       uuid;
begin
    if length(p_reason) > 1000 then
        raise invalid_parameter_value using message = 'reason must have at most 1000 characters', column = 'reason';
    end if;
    perform loci_internal.lock_merges(v_namespace_id);
    v_kept := (loci_internal.resolve_entities(v_namespace_id, array[p_into], 'id'))[1];
    v_merged := (loci_internal.resolve_entities(v_namespace_id, array[p_from], 'other'))[1];
    if v_kept = v_merged then
        raise unique_violation using message = format('%L and %L are one entity already', p_into, p_from),
            column = 'other';
    end if;
    merge_id := loci_internal.apply_entity_merge(v_namespace_id, v_kept, v_merged, p_reason, false);
    id := v_kept;
    return next;
end $$;
comment on function loci_api.merge_entities(text, text, text, text) is
    'Merge an entity into another, by id, name or alias; id of the merge and of the kept entity. Errors: 42501, '
    'P0002, 22023, 23505, 40001.';
