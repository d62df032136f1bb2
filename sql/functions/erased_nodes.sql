-- Which nodes does erasing these memories concern? Their lineages, and, if asked, every lineage that stands under one of them now; with them
-- what was merged or learned from them, and what they were merged from. Index ranges of memories and memory_closure. Called by lock_erased; internal.
create or replace function loci.erased_nodes(p_namespace_id integer, p_ids uuid[], p_subtree boolean) returns uuid[]
language plpgsql volatile set search_path = ''
as $$
declare
    v_nodes uuid[] := array(select distinct m.lineage_id from loci_data.memories m
                            where m.namespace_id = p_namespace_id and m.id = any (p_ids));
begin
    if p_subtree then
        v_nodes := array(
            select unnest(v_nodes) union
            select c.descendant_id from loci_data.memory_closure c
            where c.namespace_id = p_namespace_id and c.ancestor_id = any (v_nodes)
              and loci.is_held(c.valid_from, c.valid_to, c.recorded_at, c.superseded_at, clock_timestamp(), null));
    end if;
    return loci.derived_nodes(p_namespace_id, v_nodes);
end $$;
comment on function loci.erased_nodes(integer, uuid[], boolean) is 'lineage_id of memories, of what was derived from them, and of what stands under them now if asked. Internal.';
