-- Filters as JSON, checked and resolved: unknown names are errors, an entity may be named, a subtree is its node.
-- Called once by each reading function; internal. Errors: 22023 (unknown filter, wrong type), P0002 (entity, memory).
create or replace function loci.resolve_filter(p_namespace_id integer, p_filter jsonb) returns loci.memory_filter
language plpgsql stable set search_path = ''
as $$
declare
    v_unknown text;
    v_filter  loci.memory_filter;
begin
    if p_filter is null or p_filter = '{}' then
        return v_filter;
    end if;
    select key into v_unknown from jsonb_object_keys(p_filter) key
    where key not in ('category', 'tags', 'tags_all', 'layers', 'lineage', 'source', 'session_id', 'metadata', 'valid_after',
                      'valid_before', 'recorded_after', 'recorded_before', 'min_importance', 'min_confidence', 'under', 'entity');
    if found then
        raise invalid_parameter_value using message = format('unknown filter %L', v_unknown), column = 'filters.' || v_unknown;
    end if;
    v_filter := jsonb_populate_record(v_filter, p_filter);
    v_filter.category := rtrim(v_filter.category, '/');
    if p_filter ->> 'under' is not null then
        v_filter.under := (select lineage_id from loci_data.memories where namespace_id = p_namespace_id and id = v_filter.under);
        if v_filter.under is null then
            raise no_data_found using message = format('memory %s does not exist', p_filter ->> 'under'), column = 'filters.under';
        end if;
    end if;
    if p_filter ->> 'entity' is not null then
        v_filter.entity_id := loci.entity_id(p_namespace_id, p_filter ->> 'entity');
        if v_filter.entity_id is null then
            raise no_data_found using message = format('entity %L does not exist', p_filter ->> 'entity'), column = 'filters.entity';
        end if;
    end if;
    return v_filter;
end $$;
comment on function loci.resolve_filter(integer, jsonb) is 'JSON filters as loci.memory_filter. Internal.';
