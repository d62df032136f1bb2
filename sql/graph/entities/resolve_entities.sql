-- Which entities are meant by these ids, names or aliases? In the order given, none twice. One look-up each
-- (find_entity_id; entity_id_at for a moment before now: an entity that was merged since means itself there). Errors:
-- P0002 naming the first that is unknown, with p_field as the column, and the one whose name is most like it.
create or replace function loci_internal.resolve_entities(p_namespace_id integer, p_refs text[], p_field text,
                                                          p_known_at timestamptz default 'infinity')
returns uuid[]
language plpgsql stable parallel safe set search_path = ''
as $$
declare
    v_ids     uuid[] := '{}';
    v_ref     text;
    v_id      uuid;
begin
    foreach v_ref in array coalesce(p_refs, '{}') loop
        v_id := case when p_known_at < 'infinity' then loci_internal.entity_id_at(p_namespace_id, v_ref, p_known_at)
                     else loci_internal.find_entity_id(p_namespace_id, v_ref) end;
        if v_id is null then
            raise no_data_found using column = p_field, message = format('entity %L does not exist', v_ref)
                || coalesce((select format('; the nearest is %L', r.name)
                             from loci_internal.similar_names(p_namespace_id, v_ref, 1, null, null,
                                                              nullif(p_known_at, 'infinity')) n
                             cross join lateral loci_internal.entity_rows(p_namespace_id, array[n.id], p_known_at) r
                             where r.id <> all (loci_internal.hidden_entities(p_namespace_id, p_known_at))),
                            '');
        elsif v_id <> all(v_ids) then
            v_ids := v_ids || v_id;
        end if;
    end loop;
    return v_ids;
end $$;
comment on function loci_internal.resolve_entities(integer, text[], text, timestamptz) is
    'Ids of entities given by id, name or alias. Errors: P0002.';
