-- Facts rest again on the memories that they rested on before an operation: before those memories change, so that what
-- is forgotten by the undoing takes none of them along. Facts that a later operation based on something else stay; so
-- do p_left. They are locked (lock_undone).
create or replace function loci_internal.undo_attribute_sources(p_namespace_id integer, p_operation uuid,
                                                                p_left uuid[]) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_moved jsonb := (
        select jsonb_object_agg(n.subject_id,
                                jsonb_build_object('before', n.before -> 'memory_id', 'after', n.after -> 'memory_id'))
        from loci_internal.net_changes(p_namespace_id, p_operation, 'attribute') n
        where not n.created and n.before ->> 'memory_id' <> n.after ->> 'memory_id' and n.subject_id <> all (p_left));
    v_ids   uuid[] := array(select k::uuid from jsonb_object_keys(v_moved) k);
begin
    update loci_data.attributes a set memory_id = (v_moved -> a.id::text ->> 'before')::uuid,
        updated_at = greatest(a.updated_at, clock_timestamp())
    where a.namespace_id = p_namespace_id and a.id = any (v_ids)
      and a.memory_id = (v_moved -> a.id::text ->> 'after')::uuid
      and exists (select from loci_data.memories m where m.namespace_id = p_namespace_id
                  and m.id = (v_moved -> a.id::text ->> 'before')::uuid);
end $$;
comment on function loci_internal.undo_attribute_sources(integer, uuid, uuid[]) is
    'Let facts rest on what they rested on before an operation.';
