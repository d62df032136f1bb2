-- Links are again as they were before an operation: those that it made end, those that it ended are made anew, with the
-- strength that they had; what was known before keeps its answer. A link that comes back is a link of its own
-- (link_at): the undone one was never so. p_left: sources whose links stay. Returns how many ended or came back. Index
-- memory_links_present.
create or replace function loci_internal.undo_links(p_namespace_id integer, p_operation uuid, p_left uuid[])
returns integer
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_at    timestamptz := clock_timestamp();
    v_ended integer;
    v_made  integer;
begin
    update loci_data.memory_links l set superseded_at = greatest(v_at, l.recorded_at + interval '1 microsecond')
    from loci_internal.net_link_changes(p_namespace_id, p_operation) n
    where n.gained and n.source_id <> all (p_left) and l.namespace_id = p_namespace_id and l.source_id = n.source_id
      and l.target_id = n.target_id and l.type = n.type and l.strength = n.strength and l.superseded_at is null;
    get diagnostics v_ended = row_count;
    insert into loci_data.memory_links (namespace_id, source_id, target_id, type, strength, recorded_at)
    select p_namespace_id, n.source_id, n.target_id, n.type, n.strength, greatest(v_at, (
               select max(o.superseded_at) + interval '1 microsecond' from loci_data.memory_links o
               where o.namespace_id = p_namespace_id and o.source_id = n.source_id and o.target_id = n.target_id
                 and o.type = n.type))
    from loci_internal.net_link_changes(p_namespace_id, p_operation) n
    where not n.gained and n.source_id <> all (p_left)
      and exists (select from loci_data.memories m where m.namespace_id = p_namespace_id and m.lineage_id = n.source_id)
      and exists (select from loci_data.memories m where m.namespace_id = p_namespace_id and m.lineage_id = n.target_id)
    order by n.source_id, n.target_id, n.type
    on conflict do nothing;
    get diagnostics v_made = row_count;
    return v_ended + v_made;
end $$;
comment on function loci_internal.undo_links(integer, uuid, uuid[]) is
    'Make links what they were before an operation; how many.';
