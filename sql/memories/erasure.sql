-- Erasure of memories, of their changes and reports.

-- Erase memories for good: unlike forgetting, which only sets a status, nothing of them is left in any table. One
-- transaction. versions 'all': every version of their lineages; 'this': the named ones alone, the node keeps its place.
-- subtree: with everything that stands under them now. Everything that rested on them goes too: facts; evidence, and
-- edges left without any; entities that nothing else mentions, unless somebody stated them by hand; kept replies; texts
-- in the change feed and in reports of passes; signals about it; and the results of merges and lessons
-- (derived_lineages), whose other sources come back. A writer may erase, as it may forget. Turns of conversation that
-- hold all the words of an erased text stay, unless they are to go as well (p_with_turns). The receipt names them
-- (turns: [{session_id, id}], the first 1,000, and how many there are), and says what the server counted in this
-- transaction, triggers and cascades included: rows by table. The worker waits for it, and so does a job that finds the
-- axes of the map. Locks the mean of vectors, then in the order of every writer: lineages by name, memories, hierarchy,
-- entities by name, edges, postings. Cost: set-based; among 20,000, 10 ms for one memory and 4 s for half of them, and
-- a look at every turn. Errors: 42501, P0002 (the first unknown id), 22023, 40001 (the subtree moved meanwhile).
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
    v_turns    integer;
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
    select t.turns, t.turns_found into turns, v_turns
    from loci_internal.collect_turns_with_words(v_ns, v_ids, p_with_turns) t;
    v_left := loci_internal.merge_sources_left(v_ns, v_ids);
    v_entities := loci_internal.erase_mentions(v_ns, v_ids);
    v_carried := loci_internal.drop_carriers(v_ns, v_ids);
    v_gone := v_ids || v_entities || loci_internal.erase_edges(v_ns, v_ids, v_entities);
    v_gone := v_gone || loci_internal.erase_attributes(v_ns, v_ids)
        || loci_internal.erase_entities(v_ns, v_entities);
    perform loci_internal.erase_traces(v_ns, v_ids, v_gone);
    delete from loci_data.memories where namespace_id = v_ns and id = any (v_ids);
    delete from loci_data.projections p where p.namespace_id = v_ns;
    perform loci_internal.keep_vector_mean(v_ns, m.model_id) from loci_data.vector_means m where m.namespace_id = v_ns;
    perform loci_internal.reactivate_merge_sources(v_ns, v_left);
    perform loci_internal.settle_observations(v_ns, v_carried) where v_carried <> '{}';
    perform loci_internal.erase_changes(v_ns);
    v_counts := loci_internal.transaction_row_counts(v_counts);
    return query select cardinality(v_ids), v_counts -> 'deleted', v_counts -> 'added', v_counts -> 'changed', turns,
                        v_turns;
end $$;
comment on function loci_api.erase_memories(text, uuid[], text, boolean, boolean) is
    'Erase memories physically: all versions of their lineages or only the named ones, with their subtrees if asked; '
    'a receipt of rows by table, with the turns that hold the same words. Errors: 42501, P0002, 22023, 40001.';

-- Turns that hold all the words of a text that is erased: the first 1,000, and how many there are. They go as well
-- where p_erase says so.
create or replace function loci_internal.collect_turns_with_words(p_namespace_id integer, p_ids uuid[],
                                                                  p_erase boolean,
                                                                  out turns jsonb, out turns_found integer)
language plpgsql volatile set search_path = ''
as $$
declare
    v_ids bigint[];
begin
    select coalesce(array_agg(t.id order by t.id), '{}'),
           coalesce(jsonb_agg(jsonb_build_object('session_id', t.session_id, 'id', t.id) order by t.id)
                    filter (where t.nth <= 1000), '[]')
    into v_ids, turns
    from (select w.*, row_number() over (order by w.id) as nth
          from loci_internal.turns_with_words(p_namespace_id, p_ids) w) t;
    turns_found := cardinality(v_ids);
    if p_erase and v_ids <> '{}' then
        perform from loci_data.conversation_turns t where t.namespace_id = p_namespace_id and t.id = any (v_ids)
            order by t.id for update;
        perform loci_internal.erase_turns(p_namespace_id, v_ids);
    end if;
end $$;
comment on function loci_internal.collect_turns_with_words(integer, uuid[], boolean) is
    'Turns that hold the words of erased memories; erase them if asked to.';

-- Erase what is told elsewhere of things that go, and of memories among them: kept replies, plans and reports of
-- passes.
create or replace function loci_internal.erase_traces(p_namespace_id integer, p_memory_ids uuid[], p_ids uuid[])
returns void
language plpgsql volatile set search_path = ''
as $$
begin
    perform loci_internal.erase_idempotent_replies(p_namespace_id, p_ids);
    perform loci_internal.erase_pass_plans(p_namespace_id);
    perform loci_internal.erase_pass_reports(
        p_namespace_id, p_ids || array(select s.id from loci_data.feedback_signals s
                                       where s.namespace_id = p_namespace_id and s.memory_id = any (p_memory_ids)));
end $$;
comment on function loci_internal.erase_traces(integer, uuid[], uuid[]) is
    'Erase kept replies, plans and reports that tell of things that go.';

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

-- The feed and the operations log forget erased things: that something changed, when and through whom stays, its text
-- does not. This transaction has noted the erased things, and links and places with the other end that they had. The
-- sequencer is held off, so that nothing moves from the outbox past this. Index changes_subject; the outbox, which is
-- short, is read once.
create or replace function loci_internal.erase_changes(p_namespace_id integer) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_operation uuid := loci_internal.ensure_operation(p_namespace_id);
    v_kinds     text[];
    v_subjects  uuid[];
    v_ends      text[];
begin
    perform loci_internal.lock_background_work(p_namespace_id, 'changes', true);
    select array_agg(e.kind), array_agg(e.subject_id), array_agg(e.other) into v_kinds, v_subjects, v_ends
    from (select distinct o.kind, o.subject_id, loci_internal.change_other_end(o.kind, o.before) as other
          from loci_data.outbox o
          where o.namespace_id = p_namespace_id and o.operation_id = v_operation and o.action = 'erased'
            and o.subject_id is not null) e;
    update loci_data.outbox o set before = null, after = null
    where o.namespace_id = p_namespace_id and o.action <> 'erased'
      and ((o.kind, o.subject_id, loci_internal.change_other_end(o.kind, coalesce(o.after, o.before)))
           in (select * from unnest(v_kinds, v_subjects, v_ends))) is true;  -- a hash, however many
    update loci_data.changes c set before = null, after = null
    where c.namespace_id = p_namespace_id and c.position = any (array(
        select s.position from unnest(v_kinds, v_subjects, v_ends) e(kind, subject_id, other)
        cross join lateral (select h.position, h.kind, coalesce(h.after, h.before) as said, h.action
                            from loci_data.changes h
                            where h.namespace_id = p_namespace_id and h.subject_id = e.subject_id offset 0) s
        where s.kind = e.kind and s.action <> 'erased' and loci_internal.change_other_end(s.kind, s.said) = e.other));
end $$;
comment on function loci_internal.erase_changes(integer) is
    'Blank what the feed says of things that this transaction has erased.';

-- Which of the links or places of a subject is a change about? The id of the other end; empty for kinds that the
-- subject alone names. Inlined.
create or replace function loci_internal.change_other_end(p_kind text, p_said jsonb) returns text
language sql immutable parallel safe
return case p_kind when 'link' then p_said ->> 'target_id' when 'placement' then p_said ->> 'parent_id' else '' end;
comment on function loci_internal.change_other_end(text, jsonb) is
    'The other end of a link or a place that a change is about.';

-- Reports of passes that name erased things say no words about them any more: of what was refused the reason goes, of
-- what was changed all but the action and the ids. Reads the reports of the namespace, which are kept for job_days.
create or replace function loci_internal.erase_pass_reports(p_namespace_id integer, p_ids uuid[]) returns void
language sql volatile set search_path = ''
as $$
    update loci_data.pass_runs r
    set refused = (select
                   coalesce(jsonb_agg(case when e.entry -> 'ids' ?| p_ids::text[]
                                      then e.entry || '{"reason": "[erased]"}' else e.entry end order by e.place), '[]')
                   from jsonb_array_elements(r.refused) with ordinality e(entry, place)),
        changes = (select
                   coalesce(jsonb_agg(case when e.entry -> 'ids' ?| p_ids::text[]
                                      or e.entry ->> 'into' = any (p_ids::text[])
                                                  then jsonb_strip_nulls(
                                                      jsonb_build_object('action', e.entry -> 'action',
                                                          'ids', e.entry -> 'ids', 'into', e.entry -> 'into'))
                                                  else e.entry end order by e.place), '[]')
                   from jsonb_array_elements(r.changes) with ordinality e(entry, place))
    where r.namespace_id = p_namespace_id
      and (exists (select from jsonb_array_elements(r.refused) e where e -> 'ids' ?| p_ids::text[])
           or exists (select from jsonb_array_elements(r.changes) e where e -> 'ids' ?| p_ids::text[]
                      or e ->> 'into' = any (p_ids::text[])))
$$;
comment on function loci_internal.erase_pass_reports(integer, uuid[]) is
    'Take words about erased things out of reports of passes.';
