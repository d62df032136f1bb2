-- Undo an operation (row X5): everything that it changed becomes what it was before, as one more operation, which can be undone in turn; then
-- the first is in force again. Nothing is deleted, and known_at shows what was believed before, between and since. What was changed again
-- since is a conflict that names it, and nothing is undone; p_skip_changed leaves that alone and undoes the rest.
-- undone: how many of each kind; skipped: [{kind, count, reason}]. decaying: fade_batch has edges to bring in step (unfinished_decay).
-- Order: what gives edges their ends, merges, memories, where they stand, links, edges, attributes, rules, and last entities
-- that nothing rests on any more. Set-based: 20,000 memories in seconds.
-- Security definer: writes past the policies; checks the caller itself; settings and grants need an admin.
-- Called by REST and the command line. Errors: 42501, P0002, 23505 (undone already; changed since; cannot be), 23P01, 40001.
create or replace function loci.undo_operation(p_namespace text, p_id uuid, p_skip_changed boolean default false)
returns table (operation_id uuid, undoes uuid, undone jsonb, skipped jsonb, decaying boolean)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns      integer := loci.authorize(p_namespace, 'writer');
    v_begun   record := loci.begin_undo(v_ns, p_id);
    v_kinds   text[] := v_begun.kinds;
    v_changed record;
    v_left    uuid[];
    v_merges  integer := 0;
    v_counts  jsonb := '{}';
    v_new     record;
    v_kept    integer := 0;  -- entities that stay
begin
    if not exists (select from loci.net_merges(v_ns, p_id)) then
        v_kinds := array_remove(v_kinds, 'merge');
    end if;
    if v_kinds && '{namespace,grant}' then
        perform loci.authorize(p_namespace, 'admin');
    end if;
    select count(*) as count, min(format('%s %s was changed since%s', c.kind, c.name,
                                         coalesce(format(', by operation %s (%s)', c.operation_id, c.action), ''))) as first,
           coalesce(array_agg(distinct c.subject_id) filter (where c.subject_id is not null), '{}') as ids,
           jsonb_agg(distinct c.kind) as kinds into v_changed from loci.changed_since(v_ns, p_id, v_kinds) c;
    if v_changed.count > 0 and not p_skip_changed then
        raise unique_violation using column = 'id', message = v_changed.first
                || case when v_changed.count > 1 then format('; and so were %s others', v_changed.count - 1) else '' end,
            hint = 'Undo the later operation first, or send skip_changed to undo the rest.';
    end if;
    v_left := v_changed.ids;
    if 'merge' = any (v_kinds) then
        v_merges := loci.undo_merges(v_ns, p_namespace, p_id);
        v_counts := v_counts || jsonb_build_object('merge', v_merges);
    end if;
    if 'entity' = any (v_kinds) and v_merges = 0 then
        v_counts := v_counts || jsonb_build_object('entity', loci.undo_entities(v_ns, p_id, v_left));
    end if;
    if v_kinds @> '{memory,attribute}' then
        perform loci.undo_supports(v_ns, p_id, v_left);
    end if;
    if 'memory' = any (v_kinds) then
        v_counts := v_counts || jsonb_build_object('memory', loci.undo_memories(v_ns, p_id, v_left));
    end if;
    if 'placement' = any (v_kinds) then
        v_counts := v_counts || jsonb_build_object('placement', loci.undo_places(v_ns, p_id, v_left));
    end if;
    if 'link' = any (v_kinds) then
        v_counts := v_counts || jsonb_build_object('link', loci.undo_links(v_ns, p_id, v_left));
    end if;
    if v_merges = 0 then
        v_counts := v_counts || jsonb_build_object('edge', loci.undo_edges(v_ns, p_id, v_left));
        if v_kinds && '{aspect,attribute,supersession}' then
            v_counts := v_counts || jsonb_build_object('attribute', loci.undo_attributes(v_ns, p_id, v_left));
        end if;
    end if;
    if v_kinds && '{edge_type,namespace}' then
        v_counts := v_counts || jsonb_build_object('setting', loci.undo_settings(v_ns, p_namespace, p_id));
    end if;
    if 'grant' = any (v_kinds) then
        v_counts := v_counts || jsonb_build_object('grant', loci.undo_grants(v_ns, p_id, v_left));
    end if;
    if 'entity' = any (v_kinds) and v_merges = 0 then
        v_new := loci.undo_new_entities(v_ns, p_id, v_left);
        v_counts := v_counts || jsonb_build_object('entity', v_new.removed + (v_counts -> 'entity')::integer);
        v_kept := v_new.kept;
    end if;
    operation_id := loci.end_undo(v_ns, p_id);
    undoes := p_id;
    undone := (select coalesce(jsonb_object_agg(c.key, c.value), '{}') from jsonb_each(v_counts) c where c.value <> '0');
    skipped := loci.undo_skipped(v_ns, v_begun.stays, v_kept, v_changed.count, v_changed.kinds);
    decaying := exists (select from loci_data.decay_changes c where c.namespace_id = v_ns and c.finished_at is null);
    return next;
end $$;
comment on function loci.undo_operation(text, uuid, boolean) is 'Undo an operation: what it changed becomes what it was before. What was changed since is a conflict, unless p_skip_changed. Errors: 42501, P0002, 23505, 23P01, 40001.';
