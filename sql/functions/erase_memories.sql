-- Erase memories for good (rows M8, M9): unlike forgetting, which only sets a status, nothing of them is left in any table. One
-- transaction. versions 'all': every version of their lineages; 'this': the named ones alone, the node keeps its place. subtree: with
-- everything that stands under them now. What rested on them goes too: evidence, and edges left without any; entities that nothing
-- else mentions, unless pinned; kept replies; what the change feed and reports of passes said of it; signals about it; and what a merge or a lesson made of it
-- (derived_nodes), whose other sources come back. Attributes stay, superseded and empty. Whoever may write may erase, as with forgetting.
-- The receipt is what the server counted in this transaction, triggers and cascades included: rows by table.
-- Locks in the order of every writer: lineages by name, memories, hierarchy, entities by name, edges, postings; the worker waits.
-- Cost: set-based; among 20,000, 10 ms for one memory and 4 s for half of them. Called by REST and the command line.
-- Errors: 42501, P0002 (the first unknown id), 22023, 40001 (the subtree moved meanwhile).
create or replace function loci.erase_memories(
    p_namespace text, p_ids uuid[], p_versions text default 'all', p_subtree boolean default false)
returns table (erased integer, deleted jsonb, added jsonb, changed jsonb)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = auto
as $$
declare
    v_ns       integer := loci.authorize(p_namespace, 'writer');
    v_ids      uuid[];
    v_entities uuid[];
    v_gone     uuid[];
    v_emptied  uuid[];
    v_left     uuid[];
    v_counts   jsonb;
begin
    if p_versions is distinct from 'all' and (p_versions is distinct from 'this' or p_subtree) then
        raise invalid_parameter_value using column = 'versions',
            message = case when p_versions = 'this' then 'versions must be all where a subtree is erased' else 'versions must be all or this' end;
    end if;
    perform loci.lock_work(v_ns, 'worker', true);
    v_ids := loci.lock_erased(v_ns, p_ids, p_versions = 'all', p_subtree);
    if cardinality(v_ids) > 20 then
        set local plan_cache_mode = force_custom_plan;  -- planned for their number; a few are quicker with the plans that are there
    end if;
    v_counts := loci.row_counts();
    v_left := loci.sources_left(v_ns, v_ids);
    v_entities := loci.erase_mentions(v_ns, v_ids);
    v_gone := v_ids || v_entities || loci.erase_edges(v_ns, v_ids, v_entities);
    v_emptied := loci.erase_attributes(v_ns, v_ids);
    v_gone := v_gone || v_emptied || loci.erase_entities(v_ns, v_entities);
    perform loci.erase_replies(v_ns, v_gone);
    perform loci.erase_plans(v_ns);
    perform loci.erase_reports(v_ns, v_gone || array(select s.id from loci_data.feedback_signals s where s.namespace_id = v_ns and s.memory_id = any (v_ids)));
    perform loci.requeue_neighbours(v_ns, v_ids);
    delete from loci_data.memories where namespace_id = v_ns and id = any (v_ids);
    perform loci.return_sources(v_ns, v_left);
    perform loci.erase_changes(v_ns, v_emptied);
    v_counts := loci.row_counts(v_counts);
    return query select cardinality(v_ids), v_counts -> 'deleted', v_counts -> 'added', v_counts -> 'changed';
end $$;
comment on function loci.erase_memories(text, uuid[], text, boolean) is 'Erase memories physically: all versions of their lineages or only the named ones, with their subtrees if asked; a receipt of rows by table. Errors: 42501, P0002, 22023, 40001.';
