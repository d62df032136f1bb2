-- Undo what a merge did to edges. Each edge of the merged entity is recorded anew at its own end, with the evidence that it had and what
-- is left of it; the edge that holds that evidence now (moved_edges) is closed, and recorded anew with the rest: what the kept entity had
-- itself, and what was observed since. What was taken back or erased since stays so. Both entities are the caller's.
-- Called by part_entities; internal.
create or replace function loci.return_edges(p_namespace_id integer, p_merge_id uuid, p_merged uuid, p_at timestamptz) returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = force_custom_plan set enable_seqscan = off
as $$
declare
    v_found jsonb := (select coalesce(jsonb_agg(to_jsonb(m)), '[]') from loci.moved_edges(p_namespace_id, p_merge_id) m);
    v_ids   uuid[] := array(select distinct f.at_id from jsonb_to_recordset(v_found) f(at_id uuid, believed boolean) where f.believed);
    v_plan  jsonb;
begin
    perform from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any(v_ids) order by e.id for update;
    v_plan := loci.returned_edges(p_namespace_id, v_found, p_merged) || loci.remaining_edges(p_namespace_id, v_found);
    perform loci.close_edges(p_namespace_id, v_ids, p_at);
    perform loci.record_edges(p_namespace_id, v_plan, p_at);
    insert into loci_data.edge_moves (namespace_id, merge_id, old_id, new_id, part)
    select distinct p_namespace_id, p_merge_id, r.old_id, p.id, 'undone'
    from jsonb_to_recordset(v_plan) p(id uuid, replaces uuid[]) cross join lateral unnest(p.replaces) r(old_id);
end $$;
comment on function loci.return_edges(integer, uuid, uuid, timestamptz) is 'Give edges back to the entity that they were merged from. Internal.';
