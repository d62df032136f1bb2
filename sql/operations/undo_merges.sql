-- Merges and splits that an operation made are undone, the newest first, by the rules of undoing a merge; those that it
-- undid are made again. A merge that was undone and made again since counts as the one in force between the two.
-- Entities, edges and aspects follow; nobody inverts them one by one. Where a split is taken back, the name that it
-- made up is none again. The caller holds lock_merges. Returns how many. Errors: 23505 (undone already, moved on
-- since, name taken), 22023, 40001.
create or replace function loci_internal.undo_merges(p_namespace_id integer, p_namespace text, p_operation uuid)
returns integer
language plpgsql volatile set search_path = ''
as $$
declare
    v_merge   record;
    v_id      uuid;
    v_aliases jsonb;  -- of entities that were split, as they were before the operation
    v_count   integer := 0;
begin
    select jsonb_object_agg(e.id, coalesce(n.before -> 'aliases', to_jsonb(e.aliases))) into v_aliases
    from loci_internal.net_merge_changes(p_namespace_id, p_operation) g
    join loci_data.entity_merges m on m.namespace_id = p_namespace_id and m.id = g.id and m.kind = 'split'
    join loci_data.entities e on e.namespace_id = p_namespace_id and e.id = m.kept_id
    left join loci_internal.net_changes(p_namespace_id, p_operation, 'entity') n on n.subject_id = e.id;
    for v_merge in
        select m.*, n.created, n.was_undone_at from loci_internal.net_merge_changes(p_namespace_id, p_operation) n
        join loci_data.entity_merges m on m.namespace_id = p_namespace_id and m.id = n.id order by m.id desc
    loop
        v_id := (select m.id from loci_data.entity_merges m
                 where m.namespace_id = p_namespace_id and m.kept_id = v_merge.kept_id
                   and m.merged_id = v_merge.merged_id
                   and m.kind = v_merge.kind and m.undone_at is null and m.id >= v_merge.id order by m.id desc limit 1);
        if v_merge.created then
            perform loci_api.undo_merge(p_namespace, coalesce(v_id, v_merge.id));
        -- the merge that undid it, which is newer, has been undone or made again before this one
        elsif v_merge.kind = 'split' then
            update loci_data.entity_merges m set undone_at = v_merge.was_undone_at
            where m.namespace_id = p_namespace_id and m.id = v_merge.id;
        elsif v_id is null then
            perform loci_internal.apply_entity_merge(p_namespace_id, v_merge.kept_id, v_merge.merged_id,
                                                     format('again, as by %s', v_merge.id), v_merge.automatic);
        else
            raise unique_violation using column = 'id',
                message = format('the two entities were merged again later, by merge %s', v_id);
        end if;
        if v_merge.kind = 'split' and (v_merge.created or v_merge.was_undone_at is not null) then
            update loci_data.entities e set aliases = a.aliases, updated_at = clock_timestamp()
            from (select array(select jsonb_array_elements_text(v_aliases -> v_merge.kept_id::text)) as aliases) a
            where e.namespace_id = p_namespace_id and e.id = v_merge.kept_id and e.aliases <> a.aliases;
        end if;
        v_count := v_count + 1;
    end loop;
    return v_count;
end $$;
comment on function loci_internal.undo_merges(integer, text, uuid) is
    'Undo the merges and splits of an operation, and make again those that it undid; how many. Errors: 23505, 22023, '
    '40001.';
