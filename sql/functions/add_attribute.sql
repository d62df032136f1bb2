-- Put a fact, or a constraint, under an aspect (row S1). It is valid from now, or from valid_from, and rests on a memory, if stated.
-- Security definer: writes past the policies; checks the caller itself.
-- Errors: 42501, P0002 (namespace, aspect, memory), 22023 naming the field, 23514 (valid_to before valid_from).
create or replace function loci.add_attribute(p_namespace text, p_aspect_id uuid, p_attribute jsonb)
returns table (id uuid, aspect_id uuid, kind text, content text, status text, superseded_by uuid, memory_id uuid, confidence double precision,
               importance double precision, valid_from timestamptz, valid_to timestamptz, recorded_at timestamptz,
               superseded_at timestamptz, updated_at timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_namespace_id integer := loci.authorize(p_namespace, 'writer');
    v_fault        text := case when p_attribute ->> 'content' is null then 'content' else loci.attribute_fault(
                               p_attribute, '{content,kind,memory_id,confidence,importance,valid_from,valid_to}') end;
    v_id           uuid := loci.uuid7();
    v_at           timestamptz := clock_timestamp();
begin
    if v_fault is not null then
        raise invalid_parameter_value using
            message = format('%s: %s is not valid for an attribute', v_fault, coalesce(left((p_attribute -> v_fault)::text, 100), 'null')), column = v_fault;
    elsif not exists (select from loci_data.aspects a where a.namespace_id = v_namespace_id and a.id = p_aspect_id) then
        raise no_data_found using message = format('aspect %s does not exist', p_aspect_id), column = 'aspect_id';
    elsif p_attribute ->> 'memory_id' is not null and not exists (
            select from loci_data.memories m where m.namespace_id = v_namespace_id and m.id = (p_attribute ->> 'memory_id')::uuid) then
        raise no_data_found using message = format('memory %s does not exist', p_attribute ->> 'memory_id'), column = 'memory_id';
    end if;
    insert into loci_data.attributes (namespace_id, id, aspect_id, kind, content, memory_id, confidence, importance, valid_from, valid_to,
                                      recorded_at, updated_at)
    values (v_namespace_id, v_id, p_aspect_id, coalesce(p_attribute ->> 'kind', 'attribute'), p_attribute ->> 'content',
            (p_attribute ->> 'memory_id')::uuid, coalesce((p_attribute ->> 'confidence')::double precision, 0.0),
            coalesce((p_attribute ->> 'importance')::double precision, 0.5), coalesce((p_attribute ->> 'valid_from')::timestamptz, v_at),
            (p_attribute ->> 'valid_to')::timestamptz, v_at, v_at);
    return query select r.* from loci.attribute_rows(v_namespace_id, p_aspect_id, 'infinity') r where r.id = v_id;
end $$;
comment on function loci.add_attribute(text, uuid, jsonb) is 'Add an attribute or constraint to an aspect: {content, kind?, memory_id?, confidence?, importance?, valid_from?, valid_to?}; returns it. Errors: 42501, P0002, 22023, 23514.';
