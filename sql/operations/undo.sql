-- Undo of an operation: its beginning, its parts in order, its end.

-- May this operation be undone, and what kinds of things did it change? Refused is what is not in force
-- (lock_operation_in_force); what deleted for good; an operation whose changes are not kept any more; keys. From here
-- on this transaction is an operation of its own, which undoes the other. Kinds are without what stays as it is (turns,
-- working memory, keys, invitations). Errors: P0002, 23505.
create or replace function loci_internal.begin_undo(p_namespace_id integer, p_id uuid, out kinds text[],
                                                    out stays jsonb)
language plpgsql volatile set search_path = ''
as $$
declare
    v_noted jsonb;
begin
    perform loci_internal.lock_operation_in_force(p_namespace_id, p_id);
    v_noted := loci_internal.changed_kinds(p_namespace_id, p_id);
    if v_noted ? 'erased' then
        raise unique_violation using column = 'id',
            message = format('operation %s deleted for good: %s; that cannot be undone', p_id, v_noted ->> 'erased');
    elsif v_noted ? 'swept' then
        raise unique_violation using column = 'id',
            message = format('the changes of operation %s are no longer stored (setting change_days)', p_id);
    end if;
    kinds := array(select k.kind from jsonb_object_keys(v_noted -> 'kinds') k(kind)
                   where k.kind <> all ('{turn,working_memory,key,invitation}') order by 1);
    stays := (select coalesce(jsonb_object_agg(k.key, k.value), '{}') from jsonb_each(v_noted -> 'kinds') k
              where k.key in ('turn', 'working_memory', 'key', 'invitation'));
    if kinds = '{}' and stays <> '{}' then
        raise unique_violation using column = 'id',
            message = format('nothing that operation %s changed can be undone: %s', p_id, (
            select string_agg(k, ', ' order by k) from jsonb_object_keys(stays) k)),
            hint = 'Turns are a log, working memory expires, keys are revoked or made anew, and invitations are '
                   'withdrawn or made anew.';
    end if;
    if exists (select from loci_data.operations o where o.namespace_id = p_namespace_id
               and o.id = loci_internal.current_operation_id()) then
        -- this transaction has done something else before
        perform set_config('loci.operation', loci_api.uuid7()::text, true);
    end if;
    perform set_config('loci.undoes', p_id::text, true);
    perform loci_internal.ensure_operation(p_namespace_id);
end $$;
comment on function loci_internal.begin_undo(integer, uuid) is
    'Lock an operation that is to be undone, and begin the one that does it; the kinds of things that it changed. '
    'Errors: P0002, 23505.';

-- Lock an operation that is to be undone: of two who undo it, the second finds it undone; a transaction of it that
-- still runs is waited for (ensure_operation). Refused is what was undone already; an undo or a redo that is out of
-- date, because what it undid was undone or done again by another since; and a move between cells. Errors: P0002,
-- 23505.
create or replace function loci_internal.lock_operation_in_force(p_namespace_id integer, p_id uuid) returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_made  loci_data.operations;
    v_first loci_data.operations;
    v_by    uuid;
begin
    select o.* into v_made from loci_data.operations o where o.namespace_id = p_namespace_id and o.id = p_id for update;
    if not found then
        raise no_data_found using message = format('operation %s does not exist', p_id), column = 'id';
    end if;
    if v_made.action = 'move_namespace' then
        raise unique_violation using column = 'id',
            message = format('operation %s moved the namespace to this cell', p_id),
            hint = 'Move it back with `loci namespace move`.';
    end if;
    select o.* into v_first from loci_data.operations o where o.namespace_id = p_namespace_id and o.id = v_made.undoes
        for update;
    v_by := coalesce(v_made.undone_by, case when v_first.undone_by <> p_id then v_first.undone_by end, (
        select o.undone_by from loci_data.operations o where o.namespace_id = p_namespace_id
            and o.id = v_first.undoes));
    if v_made.undone_by is not null or v_made.undoes is not null
        and (v_first.undone_by is distinct from p_id or v_by is not null) then
        raise unique_violation using column = 'id', hint = 'Undo the newest operation that is in force.',
            message = format(
            case when v_made.undone_by is not null then 'operation %s was undone already, by operation %s'
                 else 'operation %s is out of date: what it undid was undone or done again, by operation %s' end, p_id,
                 v_by);
    end if;
end $$;
comment on function loci_internal.lock_operation_in_force(integer, uuid) is
    'Lock an operation that is to be undone; refuse one that is undone or out of date.';

-- Undo the kinds of changes that an operation made, but of things to leave alone (p_left): how many of each kind came
-- back, and how many entities stay (kept), because something else rests on them by now. The caller holds the locks.
create or replace function loci_internal.undo_steps(p_namespace_id integer, p_namespace text, p_id uuid, p_kinds text[],
                                                    p_left uuid[], out counts jsonb, out kept integer)
language plpgsql volatile set search_path = ''
as $$
declare
    v_merges integer := 0;
    v_new    record;
begin
    counts := '{}';
    kept := 0;
    if 'merge' = any (p_kinds) then
        v_merges := loci_internal.undo_merges(p_namespace_id, p_namespace, p_id);
        counts := counts || jsonb_build_object('merge', v_merges);
    end if;
    if 'entity' = any (p_kinds) and v_merges = 0 then
        counts := counts || jsonb_build_object('entity', loci_internal.undo_entities(p_namespace_id, p_id, p_left));
    end if;
    if p_kinds @> '{memory,attribute}' then
        perform loci_internal.undo_attribute_sources(p_namespace_id, p_id, p_left);
    end if;
    if 'memory' = any (p_kinds) then
        counts := counts || jsonb_build_object('memory', loci_internal.undo_memories(p_namespace_id, p_id, p_left));
    end if;
    if 'placement' = any (p_kinds) then
        counts := counts
            || jsonb_build_object('placement', loci_internal.undo_placements(p_namespace_id, p_id, p_left));
    end if;
    if 'link' = any (p_kinds) then
        counts := counts || jsonb_build_object('link', loci_internal.undo_links(p_namespace_id, p_id, p_left));
    end if;
    if v_merges = 0 then
        counts := counts || jsonb_build_object('edge', loci_internal.undo_edges(p_namespace_id, p_id, p_left));
        if p_kinds && '{aspect,attribute,supersession}' then
            counts := counts
                || jsonb_build_object('attribute', loci_internal.undo_attributes(p_namespace_id, p_id, p_left));
        end if;
    end if;
    if p_kinds && '{edge_type,namespace}' then
        counts := counts
            || jsonb_build_object('setting', loci_internal.undo_settings(p_namespace_id, p_namespace, p_id));
    end if;
    if 'grant' = any (p_kinds) then
        counts := counts || jsonb_build_object('grant', loci_internal.undo_grants(p_namespace_id, p_id, p_left));
    end if;
    if 'entity' = any (p_kinds) and v_merges = 0 then
        v_new := loci_internal.undo_new_entities(p_namespace_id, p_id, p_left);
        counts := counts || jsonb_build_object('entity', v_new.removed + (counts -> 'entity')::integer);
        kept := v_new.kept;
    end if;
end $$;
comment on function loci_internal.undo_steps(integer, text, uuid, text[], uuid[]) is
    'Undo the kinds of changes that an operation made.';

-- Undo an operation: everything that it changed becomes what it was before, as one more operation, which can be undone
-- in turn; then the first is in force again. Nothing is deleted, and known_at shows what was believed before, between
-- and since. A later change is a conflict that names it, and nothing is undone; p_skip_changed leaves that alone and
-- undoes the rest; where that is nothing, there is no operation (operation_id is null), and the first stays in force. A
-- change under way is waited for (lock_undone). undone: how many of each kind; skipped: [{kind, count, reason}];
-- conflicts: the first twenty that were changed since, [{kind, subject_id, name, operation_id, action}]. decaying:
-- recalculate_decay_batch has edges to bring in step (unfinished_decay_changes). Order: what gives edges their ends,
-- merges, memories, where they stand, links, edges, attributes, rules, and last entities that nothing rests on any
-- more. Set-based: 20,000 memories in seconds. Security definer: writes past the policies; checks the caller itself;
-- settings and grants need an admin. Errors: 42501, P0002, 23505 (undone already; changed since; cannot be), 23P01,
-- 40001.
create or replace function loci_api.undo_operation(p_namespace text, p_id uuid, p_skip_changed boolean default false)
returns table (operation_id uuid, undoes uuid, undone jsonb, skipped jsonb, conflicts jsonb, decaying boolean)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns      integer := loci_internal.authorize(p_namespace, 'writer');
    v_begun   record := loci_internal.begin_undo(v_ns, p_id);
    v_kinds   text[] := v_begun.kinds;
    v_changed record;
    v_done    record;
begin
    if not exists (select from loci_internal.net_merge_changes(v_ns, p_id)) then
        v_kinds := array_remove(v_kinds, 'merge');
    end if;
    perform loci_internal.lock_undone(v_ns, p_id, v_kinds);
    if v_kinds && '{namespace,grant}' then
        perform loci_internal.authorize(p_namespace, 'admin');  -- still, now that it is this one's turn
    end if;
    select count(*) as count, min(format('%s %s was changed since%s', c.kind, c.name,
                                         case when c.operation_id is null then '' else
                                             format(', by operation %s (%s)', c.operation_id, c.action) end)) as first,
           coalesce(array_agg(distinct c.subject_id) filter (where c.subject_id is not null), '{}') as ids,
           jsonb_agg(distinct c.kind) as kinds,
           coalesce(jsonb_agg(to_jsonb(c) - 'nth' order by c.nth) filter (where c.nth <= 20), '[]') as first_ones
    into v_changed
    from loci_internal.changed_since(v_ns, p_id, v_kinds)
         with ordinality c(kind, name, subject_id, operation_id, action, nth);
    if v_changed.count > 0 and not p_skip_changed then
        raise unique_violation using column = 'id', message = v_changed.first
                || case when v_changed.count > 1 then format('; and so were %s others', v_changed.count - 1)
                    else '' end,
            hint = 'Undo the later operation first, or send skip_changed to undo the rest.';
    end if;
    v_done := loci_internal.undo_steps(v_ns, p_namespace, p_id, v_kinds, v_changed.ids);
    undoes := p_id;
    undone := (select coalesce(jsonb_object_agg(c.key, c.value), '{}') from jsonb_each(v_done.counts) c
               where c.value <> '0');
    if v_changed.count = 0 or undone <> '{}' or exists (select from loci_data.outbox o where o.namespace_id = v_ns
            and o.operation_id = loci_internal.current_operation_id()) then
        operation_id := loci_internal.end_undo(v_ns, p_id);
    else  -- all was changed since: what it did is in force as before
        delete from loci_data.operations o where o.namespace_id = v_ns and o.id = loci_internal.current_operation_id();
        perform set_config('loci.undoes', '', true);
    end if;
    skipped := loci_internal.undo_skipped(v_ns, v_begun.stays, v_done.kept, v_changed.count, v_changed.kinds);
    conflicts := v_changed.first_ones;
    decaying := exists (select from loci_data.decay_changes c where c.namespace_id = v_ns and c.finished_at is null);
    return next;
end $$;
comment on function loci_api.undo_operation(text, uuid, boolean) is
    'Undo an operation: what it changed becomes what it was before. A later change is a conflict, unless '
    'p_skip_changed. Errors: 42501, P0002, 23505, 23P01, 40001.';

-- An operation is undone by this transaction's: it is out of force, what it had undone is in force again, what that had
-- undone is out, and so on down the chain. Returns the operation of this transaction.
create or replace function loci_internal.end_undo(p_namespace_id integer, p_id uuid) returns uuid
language plpgsql volatile set search_path = ''
as $$
declare
    v_by   uuid := loci_internal.ensure_operation(p_namespace_id);
    v_id   uuid := p_id;
    v_next uuid;
    v_out  boolean := true;
begin
    loop
        update loci_data.operations o set undone_by = case when v_out then v_by end
        where o.namespace_id = p_namespace_id and o.id = v_id returning o.undoes into v_next;
        exit when v_next is null;
        v_by := v_id;
        v_id := v_next;
        v_out := not v_out;
    end loop;
    perform set_config('loci.undoes', '', true);
    return loci_internal.ensure_operation(p_namespace_id);
end $$;
comment on function loci_internal.end_undo(integer, uuid) is
    'Note that an operation is undone by the one of this transaction; its id.';

-- Things that undoing an operation left as they are, with reasons: [{kind, count, reason}].
create or replace function loci_internal.undo_skipped(p_namespace_id integer, p_stays jsonb, p_kept integer,
                                                      p_changed bigint, p_kinds jsonb) returns jsonb
language sql immutable set search_path = ''
as $$
    select coalesce(jsonb_agg(jsonb_build_object('kind', s.kind, 'count', s.count, 'reason', s.reason) order by s.kind,
                              s.reason), '[]')
    from (
        select k.key as kind, k.value::bigint as count,
               case k.key when 'turn' then 'conversations are a log' when 'key' then 'keys are revoked or made anew'
                   when 'invitation' then 'invitations are withdrawn or made anew'
                   else 'working memory expires' end as reason
        from jsonb_each(p_stays) k
        union all
        select 'entity', p_kept, 'something else rests on them by now' where p_kept > 0
        union all
        select (select string_agg(k, ', ' order by k) from jsonb_array_elements_text(p_kinds) k), p_changed,
               'changed since' where p_changed > 0) s
$$;
comment on function loci_internal.undo_skipped(integer, jsonb, integer, bigint, jsonb) is
    'Things that undoing an operation left as they are, with reasons.';
