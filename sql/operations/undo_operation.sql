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
    v_left    uuid[];
    v_merges  integer := 0;
    v_counts  jsonb := '{}';
    v_new     record;
    v_kept    integer := 0;  -- entities that stay
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
    v_left := v_changed.ids;
    if 'merge' = any (v_kinds) then
        v_merges := loci_internal.undo_merges(v_ns, p_namespace, p_id);
        v_counts := v_counts || jsonb_build_object('merge', v_merges);
    end if;
    if 'entity' = any (v_kinds) and v_merges = 0 then
        v_counts := v_counts || jsonb_build_object('entity', loci_internal.undo_entities(v_ns, p_id, v_left));
    end if;
    if v_kinds @> '{memory,attribute}' then
        perform loci_internal.undo_attribute_sources(v_ns, p_id, v_left);
    end if;
    if 'memory' = any (v_kinds) then
        v_counts := v_counts || jsonb_build_object('memory', loci_internal.undo_memories(v_ns, p_id, v_left));
    end if;
    if 'placement' = any (v_kinds) then
        v_counts := v_counts || jsonb_build_object('placement', loci_internal.undo_placements(v_ns, p_id, v_left));
    end if;
    if 'link' = any (v_kinds) then
        v_counts := v_counts || jsonb_build_object('link', loci_internal.undo_links(v_ns, p_id, v_left));
    end if;
    if v_merges = 0 then
        v_counts := v_counts || jsonb_build_object('edge', loci_internal.undo_edges(v_ns, p_id, v_left));
        if v_kinds && '{aspect,attribute,supersession}' then
            v_counts := v_counts || jsonb_build_object('attribute', loci_internal.undo_attributes(v_ns, p_id, v_left));
        end if;
    end if;
    if v_kinds && '{edge_type,namespace}' then
        v_counts := v_counts || jsonb_build_object('setting', loci_internal.undo_settings(v_ns, p_namespace, p_id));
    end if;
    if 'grant' = any (v_kinds) then
        v_counts := v_counts || jsonb_build_object('grant', loci_internal.undo_grants(v_ns, p_id, v_left));
    end if;
    if 'entity' = any (v_kinds) and v_merges = 0 then
        v_new := loci_internal.undo_new_entities(v_ns, p_id, v_left);
        v_counts := v_counts || jsonb_build_object('entity', v_new.removed + (v_counts -> 'entity')::integer);
        v_kept := v_new.kept;
    end if;
    undoes := p_id;
    undone := (select coalesce(jsonb_object_agg(c.key, c.value), '{}') from jsonb_each(v_counts) c
               where c.value <> '0');
    if v_changed.count = 0 or undone <> '{}' or exists (select from loci_data.outbox o where o.namespace_id = v_ns
            and o.operation_id = loci_internal.current_operation_id()) then
        operation_id := loci_internal.end_undo(v_ns, p_id);
    else  -- all was changed since: what it did is in force as before
        delete from loci_data.operations o where o.namespace_id = v_ns and o.id = loci_internal.current_operation_id();
        perform set_config('loci.undoes', '', true);
    end if;
    skipped := loci_internal.undo_skipped(v_ns, v_begun.stays, v_kept, v_changed.count, v_changed.kinds);
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
