-- Changes of facts and constraints, which lose nothing of what they were.

-- Lock an attribute, its aspect first, as every writer of attributes does. Errors: P0002, also where its entity was
-- removed.
create or replace function loci_internal.lock_attribute(p_namespace_id integer, p_id uuid)
returns loci_data.attributes
language plpgsql volatile set search_path = ''
as $$
declare
    v_found loci_data.attributes;
begin
    perform from loci_data.aspects s  -- before the attribute, as every writer of attributes
    where s.namespace_id = p_namespace_id
      and s.id = (select a.aspect_id from loci_data.attributes a where a.namespace_id = p_namespace_id and a.id = p_id)
    for no key update;
    select a.* into v_found from loci_data.attributes a where a.namespace_id = p_namespace_id and a.id = p_id
        for no key update;
    if not found or exists (  -- or its entity was removed
            select from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = v_found.entity_id
                and e.merged_into is not null) then
        raise no_data_found using message = format('attribute %s does not exist', p_id), column = 'id';
    end if;
    return v_found;
end $$;
comment on function loci_internal.lock_attribute(integer, uuid) is
    'Lock an attribute for a change.';

-- Change figures, end and status of an attribute itself. Its status else follows from its decisions: refold_facts.
create or replace function loci_internal.change_attribute(p_namespace_id integer, p_id uuid, p_changes jsonb,
                                                          p_at timestamptz) returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_status text := p_changes ->> 'status';
begin
    update loci_data.attributes a
    set confidence = coalesce((p_changes ->> 'confidence')::double precision, a.confidence),
        importance = coalesce((p_changes ->> 'importance')::double precision, a.importance),
        stated_to = case when p_changes ? 'valid_to' then (p_changes ->> 'valid_to')::timestamptz
            else a.stated_to end,
        taken_back_at = case when v_status = 'deleted' then coalesce(a.taken_back_at, p_at)
            when v_status is null then a.taken_back_at end,
        ended_at = case when v_status = 'superseded' then coalesce(a.ended_at, greatest(p_at, a.valid_from))
            when v_status is distinct from 'active' then a.ended_at end,
        status = case when v_status = 'deleted' then v_status else a.status end,  -- one change
        superseded_at = case when v_status = 'deleted' then coalesce(a.superseded_at, p_at)
            else a.superseded_at end,
        updated_at = greatest(a.updated_at, p_at)
    where a.namespace_id = p_namespace_id and a.id = p_id;
end $$;
comment on function loci_internal.change_attribute(integer, uuid, jsonb, timestamptz) is
    'Change figures, end and status of an attribute.';

-- Refuse a change that an attribute cannot have. Errors: 22023 naming the field, 23P01 (active, though its memory is
-- not).
create or replace function loci_internal.check_attribute_change(p_namespace_id integer, p_old loci_data.attributes,
                                                                p_changes jsonb) returns void
language plpgsql stable set search_path = ''
as $$
declare
    v_fault text := loci_internal.first_invalid_attribute_field(
        p_changes, '{content,status,confidence,importance,valid_from,valid_to}');
begin
    v_fault := coalesce(v_fault, case
        when p_changes ? 'content' and p_changes ? 'status' then 'status'
        when p_changes ? 'content' and p_old.status <> 'active' then 'content'
        when p_changes ? 'valid_from' and not p_changes ? 'content' then 'valid_from' end);
    if v_fault is not null then
        raise invalid_parameter_value using
            message = format('%s: %s is not a valid change of this attribute', v_fault,
                             left((p_changes -> v_fault)::text, 100)), column = v_fault,
            hint = 'Content of an active attribute is replaced, from valid_from on; status changes apart.';
    elsif p_changes ->> 'status' = 'active'
        and (select f.over from loci_internal.fact_span(p_namespace_id, p_old.id) f) then
        raise exclusion_violation using column = 'status', constraint = 'attributes_memory',
            message = format('attribute %s refers to memory %s, which was corrected or forgotten', p_old.id,
                             p_old.memory_id),
            hint = 'Restore the memory, or state the attribute anew without it.';
    end if;
end $$;
comment on function loci_internal.check_attribute_change(integer, loci_data.attributes, jsonb) is
    'Refuse a change that an attribute cannot have.';

-- Change an attribute, never losing what it was. New content is a new attribute in its place, by a decision (replaced):
-- the old one is true until the new one's valid_from, and again, where the new one is taken back. status, importance,
-- confidence and valid_to change the row itself; all else follows (refold_facts), and trigger attributes_belief keeps
-- what was believed before. Superseded: it is over from now on. Back to active: what superseded it is undone; it is
-- compared with what it was not compared with. New content also supersedes what else it contradicts, as in
-- add_attribute. Returns the attribute that stands now. Security definer: writes past the policies; checks the caller
-- itself. Errors: 42501, P0002 (namespace, attribute), 22023 naming the field, 23514 (valid_to before valid_from),
-- 23P01 (active, though its memory is not).
create or replace function loci_api.update_attribute(p_namespace text, p_id uuid, p_changes jsonb)
returns table (id uuid, aspect_id uuid, kind text, content text, status text, superseded_by uuid, memory_id uuid,
               confidence double precision, importance double precision, valid_from timestamptz, valid_to timestamptz,
               recorded_at timestamptz, superseded_at timestamptz, updated_at timestamptz, observations integer,
               superseded uuid[], proposed uuid[])
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_old          loci_data.attributes;
    v_new          uuid;
    v_superseded   uuid[] := '{}';
    v_proposed     uuid[] := '{}';
    v_at           timestamptz := clock_timestamp();
    v_since        timestamptz := coalesce((p_changes ->> 'valid_from')::timestamptz, v_at);
    v_status       text := p_changes ->> 'status';
begin
    v_old := loci_internal.lock_attribute(v_namespace_id, p_id);
    perform loci_internal.check_attribute_change(v_namespace_id, v_old, p_changes);
    if p_changes ? 'content' and p_changes ->> 'content' <> v_old.content then
        select n.id, n.recorded_at, n.superseded, n.proposed into v_new, v_at, v_superseded, v_proposed
        from loci_internal.write_attribute(v_namespace_id, v_old.aspect_id, jsonb_build_object(
            'kind', v_old.kind, 'confidence', v_old.confidence, 'importance', v_old.importance,
            'memory_id', v_old.memory_id,
            'valid_from', v_since) || p_changes, p_id) n;
        v_superseded := array_append(v_superseded, p_id);
        insert into loci_data.supersessions (namespace_id, id, older_id, newer_id, signal, confidence, origin, status,
                                             created_at, decided_at, decided_by)
        values (v_namespace_id, loci_api.uuid7(), p_id, v_new, 'replaced', 1, 'manual', 'applied', v_at, v_at,
                loci.current_agent());
    else
        perform loci_internal.change_attribute(v_namespace_id, p_id, p_changes, v_at);
        if v_status = 'active' then  -- by hand, against what was decided: a sweep does not decide it again
            update loci_data.supersessions s set status = 'undone', decided_at = v_at,
                decided_by = loci.current_agent(), undone_at = v_at
            where s.namespace_id = v_namespace_id and s.older_id = p_id and s.status = 'applied';
        end if;
    end if;
    perform loci_internal.refold_facts(v_namespace_id, array[p_id], v_at, v_new is null);
    return query select r.*, v_superseded, v_proposed
        from loci_internal.attribute_rows(v_namespace_id, v_old.aspect_id, 'infinity') r where r.id =
            coalesce(v_new, p_id);
end $$;
comment on function loci_api.update_attribute(text, uuid, jsonb) is
    'Change an attribute: {content?, valid_from?, status?, confidence?, importance?, valid_to?}; new content '
    'supersedes the old. Returns what stands now. Errors: 42501, P0002, 22023, 23514.';
