-- Writes of attributes: new ones, changes, and what is wrong with one.

-- Lock what an attribute stands on: its memory, which is returned, if it has one, and its aspect. Errors: P0002 (one of
-- them does not exist, or the entity was removed), 22023 (a forgotten memory).
create or replace function loci_internal.lock_bases(p_namespace_id integer, p_aspect_id uuid, p_memory_id uuid)
returns loci_data.memories
language plpgsql volatile set search_path = ''
as $$
declare
    v_memory loci_data.memories;
begin
    select m.* into v_memory from loci_data.memories m where m.namespace_id = p_namespace_id
        and m.id = p_memory_id for share;
    perform from loci_data.aspects a where a.namespace_id = p_namespace_id and a.id = p_aspect_id for no key update;
    if not found or exists (  -- or its entity was removed
            select from loci_data.aspects a join loci_data.entities e on e.namespace_id = p_namespace_id
                and e.id = a.entity_id
            where a.namespace_id = p_namespace_id and a.id = p_aspect_id and e.merged_into is not null) then
        raise no_data_found using message = format('aspect %s does not exist', p_aspect_id), column = 'aspect_id';
    elsif p_memory_id is not null and v_memory.id is null then
        raise no_data_found using message = format('memory %s does not exist', p_memory_id),
            column = 'memory_id';
    elsif v_memory.status <> 'active' then
        raise invalid_parameter_value using column = 'memory_id', hint = 'Restore it first.',
            message = format('memory_id must not be a forgotten memory: %s is forgotten', v_memory.id);
    end if;
    return v_memory;
end $$;
comment on function loci_internal.lock_bases(integer, uuid, uuid) is
    'Lock the aspect and the memory of a new attribute.';

-- Insert an attribute and let it take its place among its siblings: those that it contradicts are superseded by it, or
-- it by them if it is back-dated. It is valid from now, where its memory is valid now, else from when that is. A fact
-- in the same words, by the same memory, is only counted, unless other times are stated. p_replaces: the sibling whose
-- content it replaces, which is no matter of signals. The memory is locked first, so that nobody forgets it meanwhile,
-- then the aspect, so that two writers of one aspect see each other's facts; then attributes, in order of id. Errors:
-- P0002 (aspect, memory), 22023 naming the field (a forgotten memory), 23514.
create or replace function loci_internal.write_attribute(p_namespace_id integer, p_aspect_id uuid, p_attribute jsonb,
                                                         p_replaces uuid default null)
returns table (id uuid, recorded_at timestamptz, superseded uuid[], proposed uuid[])
language plpgsql volatile set search_path = ''
as $$
declare
    v_fault text := case when p_attribute ->> 'content' is null then 'content'
        else loci_internal.first_invalid_attribute_field(
                        p_attribute, '{content,kind,memory_id,confidence,importance,valid_from,valid_to}') end;
    v_memory loci_data.memories;
begin
    if v_fault is not null then
        raise invalid_parameter_value using
            message = format('%s: %s is not valid for an attribute', v_fault,
                             coalesce(left((p_attribute -> v_fault)::text, 100), 'null')), column = v_fault;
    end if;
    v_memory := loci_internal.lock_bases(p_namespace_id, p_aspect_id, (p_attribute ->> 'memory_id')::uuid);
    recorded_at := clock_timestamp();
    superseded := '{}';
    proposed := '{}';
    id := loci_internal.find_same_fact(p_namespace_id, p_aspect_id, p_attribute, recorded_at) where p_replaces is null;
    if id is not null then
        update loci_data.attributes a
        set observations = a.observations + 1, updated_at = greatest(a.updated_at, write_attribute.recorded_at)
        where a.namespace_id = p_namespace_id and a.id = write_attribute.id;
        return next;
        return;
    end if;
    id := loci_api.uuid7();
    insert into loci_data.attributes (namespace_id, id, aspect_id, kind, content, memory_id, confidence, importance,
                                      valid_from, valid_to, stated_to, own_to, recorded_at, updated_at)
    values (p_namespace_id, id, p_aspect_id, coalesce(p_attribute ->> 'kind', 'attribute'), p_attribute ->> 'content',
            v_memory.id, coalesce((p_attribute ->> 'confidence')::double precision, 0.0),
            coalesce((p_attribute ->> 'importance')::double precision, 0.5),
            coalesce((p_attribute ->> 'valid_from')::timestamptz, case
                when v_memory.valid_from > recorded_at or v_memory.valid_to <= recorded_at then v_memory.valid_from end,
                recorded_at),
            (p_attribute ->> 'valid_to')::timestamptz, (p_attribute ->> 'valid_to')::timestamptz,
            (p_attribute ->> 'valid_to')::timestamptz, recorded_at, recorded_at);
    if v_memory.id is not null then
        perform loci_internal.refold_facts(p_namespace_id, array[id], recorded_at);
    end if;
    select s.superseded, s.proposed into superseded, proposed
    from loci_internal.supersede_siblings(p_namespace_id, id, 'inline', null, p_replaces, recorded_at) s;
    return next;
end $$;
comment on function loci_internal.write_attribute(integer, uuid, jsonb, uuid) is
    'Insert an attribute, superseding what it contradicts.';

-- A fact in these words that stands under an aspect already, by the same memory (or none), and to which the new one
-- adds nothing: it states no times, or the same. The oldest. Index attributes_same.
create or replace function loci_internal.find_same_fact(p_namespace_id integer, p_aspect_id uuid, p_attribute jsonb,
                                                        p_at timestamptz) returns uuid
language sql stable set search_path = ''
as $$
    select a.id from loci_data.attributes a
    where a.namespace_id = p_namespace_id and a.aspect_id = p_aspect_id and a.status = 'active'
      and a.kind = coalesce(p_attribute ->> 'kind', 'attribute')
      and md5(a.content) = md5(p_attribute ->> 'content') and a.content = p_attribute ->> 'content'
      and a.memory_id is not distinct from (p_attribute ->> 'memory_id')::uuid
      and case when coalesce(p_attribute ->> 'valid_from', p_attribute ->> 'valid_to') is null
               then loci.holds_at(a, p_at, null)
               else (p_attribute ->> 'valid_from')::timestamptz = a.valid_from
                    and (p_attribute ->> 'valid_to')::timestamptz is not distinct from a.stated_to end
    order by a.recorded_at, a.id limit 1
$$;
comment on function loci_internal.find_same_fact(integer, uuid, jsonb, timestamptz) is
    'A fact that says the same as one that is to be written; null: none.';

-- Put a fact, or a constraint, under an aspect. It is valid from now, or from valid_from, and rests on a memory, if
-- stated. Active sibling facts that it contradicts are superseded, or decisions about them are proposed, as the setting
-- supersession says: see write_attribute. Security definer: writes past the policies; checks the caller itself. Errors:
-- 42501, P0002 (namespace, aspect, memory), 22023 naming the field, 23514 (valid_to before valid_from).
create or replace function loci_api.add_attribute(p_namespace text, p_aspect_id uuid, p_attribute jsonb)
returns table (id uuid, aspect_id uuid, kind text, content text, status text, superseded_by uuid, memory_id uuid,
               confidence double precision, importance double precision, valid_from timestamptz, valid_to timestamptz,
               recorded_at timestamptz, superseded_at timestamptz, updated_at timestamptz, observations integer,
               superseded uuid[], proposed uuid[])
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

-- Which field of a written attribute or aspect is not valid? The first by name, of those that are stated; a field that
-- is not in p_allowed is never valid. Pure.
create or replace function loci_internal.first_invalid_attribute_field(p_fields jsonb, p_allowed text[]) returns text
language sql immutable parallel safe
as $$
    select f.key from jsonb_each(p_fields) f
    where f.key <> all(p_allowed) or case f.key
        when 'name' then jsonb_typeof(f.value) = 'string' and length(btrim(f.value #>> '{}')) between 1 and 255
                         and loci.canonical_name(f.value #>> '{}') <> ''
        when 'content' then jsonb_typeof(f.value) = 'string' and length(f.value #>> '{}') between 1 and 10000
        and f.value #>> '{}' ~ '\S'
        when 'kind' then f.value in ('"attribute"', '"constraint"')
        when 'status' then f.value in ('"active"', '"superseded"', '"deleted"')
        when 'single_valued' then jsonb_typeof(f.value) in ('boolean', 'null')
        when 'valid_from' then isfinite((f.value #>> '{}')::timestamptz) is not false
        when 'valid_to' then isfinite((f.value #>> '{}')::timestamptz) is not false
        when 'memory_id' then jsonb_typeof(f.value) = 'null'
                              or f.value #>> '{}' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
        else jsonb_typeof(f.value) = 'number' and (f.value #>> '{}')::numeric between 0 and 1 end is not true
    order by f.key limit 1
$$;
comment on function loci_internal.first_invalid_attribute_field(jsonb, text[]) is
    'Name of the first field that is not valid for an aspect or attribute; null: all are.';
