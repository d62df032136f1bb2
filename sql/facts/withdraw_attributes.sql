-- Attributes that rest on memories which are over become superseded by nothing: true until the memory was, or until now
-- if it was forgotten. withdrawn_at marks them, so that they come back with the memory, and no others. Locked in order
-- of id. Returns those that changed. Index attributes_memory.
create or replace function loci_internal.withdraw_attributes(p_namespace_id integer, p_memory_ids uuid[],
                                                             p_at timestamptz) returns uuid[]
language plpgsql volatile set search_path = ''
as $$
declare
    v_ids uuid[] := array(select a.id from loci_data.attributes a
                          where a.namespace_id = p_namespace_id and a.memory_id = any (p_memory_ids)
                            and a.status = 'active'
                          order by a.id for no key update);
begin
    if v_ids = '{}' then
        return v_ids;
    end if;
    with ended as (
        update loci_data.attributes a
        set status = 'superseded', superseded_at = p_at, withdrawn_at = p_at, updated_at = greatest(a.updated_at, p_at),
            valid_to = least(a.valid_to,
                             greatest(a.valid_from, case when m.status = 'active' then coalesce(m.valid_to, p_at)
                                      else p_at end))
        from loci_data.memories m
        where a.namespace_id = p_namespace_id and a.id = any (v_ids) and a.status = 'active'
          and m.namespace_id = p_namespace_id and m.id = any (p_memory_ids) and m.id = a.memory_id
        returning a.id
    )
    select coalesce(array_agg(e.id order by e.id), '{}') into v_ids from ended e;
    return v_ids;
end $$;
comment on function loci_internal.withdraw_attributes(integer, uuid[], timestamptz) is
    'Supersede the active attributes that rest on memories; their ids.';

-- Superseded attributes become what they were before (attribute_beliefs keeps it): p_newer null: active; else what they
-- were before that attribute superseded them, which may be superseded by a later one. Locked in order of id. Returns
-- those that changed.
create or replace function loci_internal.revive_attributes(p_namespace_id integer, p_ids uuid[], p_newer uuid,
                                                           p_at timestamptz) returns uuid[]
language plpgsql volatile set search_path = ''
as $$
declare
    v_ids uuid[];
begin
    perform from loci_data.attributes a where a.namespace_id = p_namespace_id and a.id = any (p_ids) order by a.id
        for no key update;
    with revived as (
        update loci_data.attributes a
        set status = b.status, superseded_by = b.superseded_by, valid_to = b.valid_to, withdrawn_at = null,
            superseded_at = case when b.status <> 'active' then a.superseded_at end,
            updated_at = greatest(a.updated_at, p_at)
        from unnest(p_ids) i(id)
        cross join lateral (
            select o.status, o.superseded_by, o.valid_to from loci_data.attribute_beliefs o
            where o.namespace_id = p_namespace_id and o.attribute_id = i.id
              and case when p_newer is null then o.status = 'active' else o.status <> 'superseded' or o.superseded_by
                  is distinct from p_newer end
            order by o.believed_to desc limit 1) b
        where a.namespace_id = p_namespace_id and a.id = any (p_ids) and a.id = i.id and a.status = 'superseded'
          and (p_newer is null or a.superseded_by = p_newer)
        returning a.id
    )
    select coalesce(array_agg(r.id order by r.id), '{}') into v_ids from revived r;
    return v_ids;
end $$;
comment on function loci_internal.revive_attributes(integer, uuid[], uuid, timestamptz) is
    'Make superseded attributes what they were before; their ids.';
