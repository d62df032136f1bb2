-- Insert an attribute and let it take its place among its siblings: active ones that it contradicts are superseded by
-- it, or it by them if it is back-dated. p_replaces: the sibling whose content it replaces, which is no matter of
-- signals. The aspect is locked first, so that two writers of one aspect see each other's facts; then attributes, in
-- order of id. Errors: P0002 (aspect, memory), 22023 naming the field, 23514.
create or replace function loci_internal.write_attribute(p_namespace_id integer, p_aspect_id uuid, p_attribute jsonb,
                                                         p_replaces uuid default null)
returns table (id uuid, recorded_at timestamptz, superseded uuid[], proposed uuid[])
language plpgsql volatile set search_path = ''
as $$
declare
    v_fault text := case when p_attribute ->> 'content' is null then 'content'
        else loci_internal.first_invalid_attribute_field(
                        p_attribute, '{content,kind,memory_id,confidence,importance,valid_from,valid_to}') end;
begin
    if v_fault is not null then
        raise invalid_parameter_value using
            message = format('%s: %s is not valid for an attribute', v_fault,
                             coalesce(left((p_attribute -> v_fault)::text, 100), 'null')), column = v_fault;
    end if;
    perform from loci_data.aspects a where a.namespace_id = p_namespace_id and a.id = p_aspect_id for no key update;
    if not found or exists (  -- or its entity was removed
            select from loci_data.aspects a join loci_data.entities e on e.namespace_id = p_namespace_id
                and e.id = a.entity_id
            where a.namespace_id = p_namespace_id and a.id = p_aspect_id and e.merged_into is not null) then
        raise no_data_found using message = format('aspect %s does not exist', p_aspect_id), column = 'aspect_id';
    elsif p_attribute ->> 'memory_id' is not null and not exists (
            select from loci_data.memories m where m.namespace_id = p_namespace_id
                and m.id = (p_attribute ->> 'memory_id')::uuid) then
        raise no_data_found using message = format('memory %s does not exist', p_attribute ->> 'memory_id'),
            column = 'memory_id';
    end if;
    id := loci_api.uuid7();
    recorded_at := clock_timestamp();
    insert into loci_data.attributes (namespace_id, id, aspect_id, kind, content, memory_id, confidence, importance,
                                      valid_from, valid_to,
                                      recorded_at, updated_at)
    values (p_namespace_id, id, p_aspect_id, coalesce(p_attribute ->> 'kind', 'attribute'), p_attribute ->> 'content',
            (p_attribute ->> 'memory_id')::uuid, coalesce((p_attribute ->> 'confidence')::double precision, 0.0),
            coalesce((p_attribute ->> 'importance')::double precision, 0.5),
            coalesce((p_attribute ->> 'valid_from')::timestamptz, recorded_at),
            (p_attribute ->> 'valid_to')::timestamptz, recorded_at, recorded_at);
    select s.superseded, s.proposed into superseded, proposed
    from loci_internal.supersede_siblings(p_namespace_id, id, 'inline', null, p_replaces, recorded_at) s;
    return next;
end $$;
comment on function loci_internal.write_attribute(integer, uuid, jsonb, uuid) is
    'Insert an attribute, superseding what it contradicts.';
