-- Erase memories for good: unlike forgetting, which only sets a status, nothing of them is left in any table. One
-- transaction. versions 'all': every version of their lineages; 'this': the named ones alone, the node keeps its place.
-- subtree: with everything that stands under them now. Everything that rested on them goes too: facts; evidence, and
-- edges left without any; entities that nothing else mentions, unless somebody stated them by hand; kept replies; texts
-- in the change feed and in reports of passes; signals about it; and the results of merges and lessons
-- (derived_lineages), whose other sources come back. A writer may erase, as it may forget. Turns of conversation that
-- hold all the words of an erased text stay, unless they are to go as well (p_with_turns). The receipt names them
-- (turns: [{session_id, id}], the first 1,000, and how many there are), and says what the server counted in this
-- transaction, triggers and cascades included: rows by table. The worker waits, and who finds the axes of the map.
-- Locks the mean of vectors, then in the order of every writer: lineages by name, memories, hierarchy, entities by
-- name, edges, postings. Cost: set-based; among 20,000, 10 ms for one memory and 4 s for half of them, and a look at
-- every turn. Errors: 42501, P0002 (the first unknown id), 22023, 40001 (the subtree moved meanwhile).
create or replace function loci_api.erase_memories(
    p_namespace text, p_ids uuid[], p_versions text default 'all', p_subtree boolean default false,
    p_with_turns boolean default false)
returns table (erased integer, deleted jsonb, added jsonb, changed jsonb, turns jsonb, turns_found integer)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = auto
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'writer');
    v_ids      uuid[];
    v_entities uuid[];
    v_gone     uuid[];
    v_left     uuid[];
    v_carried  uuid[];
    v_counts   jsonb;
    v_turns    bigint[];
begin
    if p_versions is distinct from 'all' and (p_versions is distinct from 'this' or p_subtree) then
        raise invalid_parameter_value using column = 'versions',
            message = case when p_versions = 'this' then 'versions must be all where a subtree is erased'
                else 'versions must be all or this' end;
    end if;
    perform loci_internal.lock_background_work(v_ns, 'worker', true);
    -- who counts the mean counts what goes, too; waited for while this holds nothing that a writer wants
    perform from loci_data.vector_means m where m.namespace_id = v_ns order by m.model_id for update;
    v_ids := loci_internal.lock_memories_to_erase(v_ns, p_ids, p_versions = 'all', p_subtree);
    if cardinality(v_ids) > 20 then
        -- planned for their number; a few are quicker with the plans that are there
        set local plan_cache_mode = force_custom_plan;
    end if;
    v_counts := loci_internal.transaction_row_counts();
    select coalesce(array_agg(t.id order by t.id), '{}'),
           coalesce(jsonb_agg(jsonb_build_object('session_id', t.session_id, 'id', t.id) order by t.id)
                    filter (where t.nth <= 1000), '[]')
    into v_turns, turns
    from (select w.*, row_number() over (order by w.id) as nth
          from loci_internal.turns_with_words(v_ns, v_ids) w) t;
    if p_with_turns and v_turns <> '{}' then
        perform from loci_data.conversation_turns t where t.namespace_id = v_ns and t.id = any (v_turns)
            order by t.id for update;
        perform loci_internal.erase_turns(v_ns, v_turns);
    end if;
    v_left := loci_internal.merge_sources_left(v_ns, v_ids);
    v_entities := loci_internal.erase_mentions(v_ns, v_ids);
    v_carried := loci_internal.drop_carriers(v_ns, v_ids);
    v_gone := v_ids || v_entities || loci_internal.erase_edges(v_ns, v_ids, v_entities);
    v_gone := v_gone || loci_internal.erase_attributes(v_ns, v_ids)
        || loci_internal.erase_entities(v_ns, v_entities);
    perform loci_internal.erase_idempotent_replies(v_ns, v_gone);
    perform loci_internal.erase_pass_plans(v_ns);
    perform loci_internal.erase_pass_reports(v_ns,
                                             v_gone || array(select s.id from loci_data.feedback_signals s
                                                             where s.namespace_id = v_ns
                                                               and s.memory_id = any (v_ids)));
    delete from loci_data.memories where namespace_id = v_ns and id = any (v_ids);
    delete from loci_data.projections p where p.namespace_id = v_ns;
    perform loci_internal.keep_vector_mean(v_ns, m.model_id) from loci_data.vector_means m where m.namespace_id = v_ns;
    perform loci_internal.reactivate_merge_sources(v_ns, v_left);
    perform loci_internal.settle_observations(v_ns, v_carried) where v_carried <> '{}';
    perform loci_internal.erase_changes(v_ns);
    v_counts := loci_internal.transaction_row_counts(v_counts);
    return query select cardinality(v_ids), v_counts -> 'deleted', v_counts -> 'added', v_counts -> 'changed', turns,
                        cardinality(v_turns);
end $$;
comment on function loci_api.erase_memories(text, uuid[], text, boolean, boolean) is
    'Erase memories physically: all versions of their lineages or only the named ones, with their subtrees if asked; '
    'a receipt of rows by table, with the turns that hold the same words. Errors: 42501, P0002, 22023, 40001.';

-- Delete entities that nothing mentions any more and nobody stated, with what hangs under them. Returns aspects and
-- attributes that went. Edges are gone, and the entities locked. Cascades follow the foreign keys.
create or replace function loci_internal.erase_entities(p_namespace_id integer, p_ids uuid[]) returns uuid[]
language plpgsql volatile set search_path = ''
as $$
declare
    v_aspects    uuid[] := array(select a.id from loci_data.aspects a where a.namespace_id = p_namespace_id
                                 and a.entity_id = any (p_ids));
    v_attributes uuid[] := array(select a.id from loci_data.attributes a where a.namespace_id = p_namespace_id
                                 and a.aspect_id = any (v_aspects));
begin
    delete from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = any (p_ids);
    return v_aspects || v_attributes;
end $$;
comment on function loci_internal.erase_entities(integer, uuid[]) is
    'Delete entities with their names, aspects and attributes; ids of the last two.';

-- Memories that were forgotten for a merge are active again, but for those in whose place something stands by now.
create or replace function loci_internal.reactivate_merge_sources(p_namespace_id integer, p_ids uuid[]) returns void
language sql volatile set search_path = '' set enable_seqscan = off
as $$
    update loci_data.memories m set status = 'active', updated_at = clock_timestamp()
    where m.namespace_id = p_namespace_id and m.id = any (p_ids) and m.status = 'forgotten'
      and not exists (select from loci_data.memories o where o.namespace_id = m.namespace_id and o.status = 'active'
                      and o.valid_to is null
                      and (o.lineage = m.lineage or o.content_hash = m.content_hash and o.fold_scope = m.fold_scope
                           and o.category = m.category))
$$;
comment on function loci_internal.reactivate_merge_sources(integer, uuid[]) is
    'Make memories active again that were forgotten for a merge.';
