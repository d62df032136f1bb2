-- Facts that rest on memories, once those are gone (row M9): the rows stay (row S8), superseded, without content and without the
-- memory, and hold at no moment; decisions about them keep no words as evidence. Returns them. Index attributes_memory.
-- Called by erase_memories; internal.
create or replace function loci.erase_attributes(p_namespace_id integer, p_ids uuid[]) returns uuid[]
language sql volatile set search_path = ''
as $$
    with emptied as (
        update loci_data.attributes a
        set content = '[erased]', memory_id = null, valid_to = a.valid_from, updated_at = clock_timestamp(), superseded_at = coalesce(a.superseded_at, clock_timestamp()),
            status = case a.status when 'active' then 'superseded' else a.status end
        where a.namespace_id = p_namespace_id and a.memory_id = any (p_ids)
        returning a.id
    ), unquoted as (
        update loci_data.supersessions s set evidence = '{}'
        where s.namespace_id = p_namespace_id
          and (s.older_id = any (array(select e.id from emptied e)) or s.newer_id = any (array(select e.id from emptied e)))
    )
    select coalesce(array_agg(e.id), '{}') from emptied e
$$;
comment on function loci.erase_attributes(integer, uuid[]) is 'Empty and supersede the attributes that rest on memories; their ids. Internal.';
