-- Undo a merge, or a split. Merges may be undone in any order, unless a later one moved the same things again (the kept
-- entity, or an edge that this one moved): that one is undone first. Undoing a split is a merge of the two, which can
-- be undone again; its id is returned. Undoing twice is a conflict. p_choice: {keep_names?, edge_ids?}. Undoing a split
-- makes the names of the part aliases of the whole; keep_names false: only those that it had before. Undoing a merge
-- leaves edges that were written since with the kept one, but for edge_ids (edges_written_since). The reply says what
-- stays. Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002, 23505 (undone
-- already, merged or removed since, name taken), 40001.
create or replace function loci_api.undo_merge(p_namespace text, p_id uuid, p_choice jsonb default '{}')
returns table (merge_id uuid, kept_id uuid, merged_id uuid, aliases text[], edges jsonb)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_merge        loci_data.entity_merges;
    v_later        uuid;
    v_removed      text;
begin
    perform loci_internal.lock_merges(v_namespace_id);
    select m.* into v_merge from loci_data.entity_merges m where m.namespace_id = v_namespace_id and m.id = p_id;
    if not found then
        raise no_data_found using message = format('merge %s does not exist', p_id), column = 'id';
    elsif v_merge.undone_at is not null then
        raise unique_violation using message = format('merge %s was undone already', p_id), column = 'id';
    end if;
    select m.id into v_later
    from loci_data.entity_merges m
    join loci_data.entities e on e.namespace_id = v_namespace_id and e.id = m.merged_id and e.merged_into = m.kept_id
    where m.namespace_id = v_namespace_id and m.kind = 'merge' and m.undone_at is null and m.id <> p_id
      and (m.merged_id = v_merge.kept_id or v_merge.kind = 'split' and m.merged_id = v_merge.merged_id)
    order by m.id desc limit 1;
    if not found then  -- or edges of it have been moved on
        select g.id into v_later
        from loci_data.edge_moves m
        join loci_data.edge_moves n on n.namespace_id = v_namespace_id and n.old_id = m.new_id and n.part <> 'undone'
             and n.merge_id <> p_id
        join loci_data.entity_merges g on g.namespace_id = v_namespace_id and g.id = n.merge_id and g.undone_at is null
             and g.id > p_id
        where m.namespace_id = v_namespace_id and m.merge_id = p_id
        order by g.id desc limit 1;
    end if;
    if found then
        raise unique_violation using message = format('what it merged was merged again later, by merge %s', v_later),
            column = 'id',
            hint = 'Undo that one first.';
    end if;
    select e.name into v_removed from loci_data.entities e
    where e.namespace_id = v_namespace_id and e.id in (v_merge.kept_id, v_merge.merged_id) and e.merged_into = e.id
    order by e.id limit 1;
    if found then
        raise unique_violation using message = format('%L was removed since', v_removed), column = 'id',
            hint = 'Undo its removal first.';
    end if;
    aliases := '{}';
    edges := '[]';
    if v_merge.kind = 'merge' then
        perform loci_internal.reverse_entity_merge(v_namespace_id, v_merge);
        perform loci_internal.give_edges_written_since(v_namespace_id, v_merge, p_choice);
        edges := loci_internal.edges_written_since(v_namespace_id, v_merge.kept_id, v_merge.decided_at);
    else
        select u.merge_id, u.aliases into merge_id, aliases
        from loci_internal.undo_split(v_namespace_id, v_merge,
                                      coalesce((p_choice ->> 'keep_names')::boolean, true)) u;
        update loci_data.entity_merges m set undone_at = greatest(clock_timestamp(), m.decided_at)
        where m.namespace_id = v_namespace_id and m.id = p_id;
    end if;
    kept_id := v_merge.kept_id;
    merged_id := v_merge.merged_id;
    return next;
end $$;
comment on function loci_api.undo_merge(text, uuid, jsonb) is
    'Undo a merge or a split ({keep_names?, edge_ids?}); the two entities, what stays with the kept one, and for a '
    'split the merge that joins them again. Errors: 42501, P0002, 23505, 40001.';
