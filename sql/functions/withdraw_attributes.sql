-- Attributes that rest on memories which are over become superseded by nothing (row M9; propagateMemoryStatus in seed D): true until the
-- memory was, or until now if it was forgotten. withdrawn_at marks them, so that they come back with the memory, and no others. Locked
-- in order of id. Returns those that changed. Index attributes_memory. Called by follow_memory and propagate_memory_status; internal.
create or replace function loci.withdraw_attributes(p_namespace_id integer, p_memory_ids uuid[], p_at timestamptz) returns uuid[]
language plpgsql volatile set search_path = ''
as $$
declare
    v_ids uuid[] := array(select a.id from loci_data.attributes a
                          where a.namespace_id = p_namespace_id and a.memory_id = any (p_memory_ids) and a.status = 'active'
                          order by a.id for no key update);
begin
    if v_ids = '{}' then
        return v_ids;
    end if;
    with ended as (
        update loci_data.attributes a
        set status = 'superseded', superseded_at = p_at, withdrawn_at = p_at, updated_at = greatest(a.updated_at, p_at),
            valid_to = least(a.valid_to, greatest(a.valid_from, case when m.status = 'active' then coalesce(m.valid_to, p_at) else p_at end))
        from loci_data.memories m
        where a.namespace_id = p_namespace_id and a.id = any (v_ids) and a.status = 'active'
          and m.namespace_id = p_namespace_id and m.id = any (p_memory_ids) and m.id = a.memory_id
        returning a.id
    )
    select coalesce(array_agg(e.id order by e.id), '{}') into v_ids from ended e;
    return v_ids;
end $$;
comment on function loci.withdraw_attributes(integer, uuid[], timestamptz) is 'Supersede the active attributes that rest on memories; their ids. Internal.';
