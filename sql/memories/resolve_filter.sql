-- Filters as JSON and the two times, checked and resolved: unknown names are errors, an entity may be named, a subtree
-- is its node. Called once by each reading function; Errors: 22023 (unknown filter, wrong type, infinite time), P0002
-- (entity, memory).
create or replace function loci_internal.resolve_filter(
    p_namespace_id integer, p_filter jsonb, p_as_of timestamptz default null, p_known_at timestamptz default null)
returns loci_internal.memory_filter
language plpgsql stable set search_path = ''
as $$
declare
    v_unknown text;
    v_filter  loci_internal.memory_filter;
begin
    if p_filter <> '{}' then
        select key into v_unknown from jsonb_object_keys(p_filter) key
        where key not in ('category', 'tags', 'tags_all', 'layers', 'lineage', 'source', 'session_id', 'metadata',
                          'valid_after',
                          'valid_before', 'recorded_after', 'recorded_before', 'min_importance', 'min_confidence',
                          'under', 'entity', 'about', 'party');
        if found then
            raise invalid_parameter_value using message = format('unknown filter %L', v_unknown),
                column = 'filters.' || v_unknown;
        end if;
        v_filter := jsonb_populate_record(v_filter, p_filter - 'about');
        v_filter.category := rtrim(v_filter.category, '/');
    end if;
    if not (isfinite(p_as_of) and isfinite(p_known_at)) then
        raise invalid_parameter_value using message = 'as_of and known_at must be finite times',
            column = case when isfinite(p_as_of) then 'known_at' else 'as_of' end;
    end if;
    v_filter.as_of := coalesce(p_as_of, clock_timestamp());
    v_filter.known_at := p_known_at;
    v_filter.begun_by := case when p_known_at is null then v_filter.as_of else 'infinity' end;
    if v_filter.under is not null then
        v_filter.under := loci_internal.lineage_id_of(p_namespace_id, v_filter.under, 'filters.under');
    end if;
    if p_filter ->> 'about' is not null then
        v_filter.about := loci_internal.names_of(p_namespace_id, p_filter ->> 'about');
    end if;
    if p_filter ->> 'entity' is not null then
        v_filter.entity_id := loci_internal.entity_at_or_removed(p_namespace_id, p_filter ->> 'entity', p_known_at);
        if v_filter.entity_id is null then
            raise no_data_found using message = format('entity %L does not exist', p_filter ->> 'entity'),
                column = 'filters.entity';
        end if;
    end if;
    return v_filter;
end $$;
comment on function loci_internal.resolve_filter(integer, jsonb, timestamptz, timestamptz) is
    'JSON filters and the two times as loci_internal.memory_filter.';
