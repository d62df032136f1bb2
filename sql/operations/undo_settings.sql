-- Edge types and settings of the namespace become what they were before an operation; an edge type that it wrote has
-- the defaults again. A rate or threshold that changes is in force for readers at once, and decaying:
-- recalculate_decay_batch has
-- edges to bring in step with it. Settings that others changed since stay (p_skip_changed). The namespace is locked
-- (lock_undone). Returns how many. Errors: 22023 (a setting
-- that is not valid any more).
create or replace function loci_internal.undo_settings(p_namespace_id integer, p_namespace text, p_operation uuid)
returns integer
language plpgsql volatile set search_path = ''
as $$
declare
    v_type  record;
    v_was   jsonb;
    v_count integer := 0;
begin
    for v_type in
        select n.after ->> 'type' as type,
               case when n.created then '{"decay_rate": null, "single_valued": false, "description": null}'
                   else n.before - 'type' end as fields
        from loci_internal.net_changes(p_namespace_id, p_operation, 'edge_type') n
        where n.after ->> 'type' <> all (array(select c.name
                                               from loci_internal.settings_changed_since(p_namespace_id, p_operation) c
                                               where c.kind = 'edge_type'))
        order by 1
    loop
        perform loci_api.set_edge_type(p_namespace, v_type.type, v_type.fields);
        v_count := v_count + 1;
    end loop;
    v_was := loci_internal.settings(p_namespace_id);
    update loci_data.namespaces n
    set settings = jsonb_strip_nulls(n.settings || f.settings), updated_at = clock_timestamp(),
        description = case when f.described then f.description #>> '{}' else n.description end
    from (select coalesce(jsonb_object_agg(s.name, coalesce(s.before, 'null')) filter (where s.name <> 'description'),
                          '{}') as settings,
                 bool_or(s.name = 'description') as described,
                 (array_agg(s.before) filter (where s.name = 'description'))[1] as description,
                 count(*) as count
          from loci_internal.net_setting_changes(p_namespace_id, p_operation) s
          where s.now is not distinct from s.after) f
    where n.id = p_namespace_id and f.count > 0;
    if found then
        perform loci_internal.check_settings((select n.settings from loci_data.namespaces n
                                              where n.id = p_namespace_id));
        v_count := v_count + 1;
    end if;
    if (v_was ->> 'decay_rate', v_was ->> 'edge_threshold') <> (select s ->> 'decay_rate', s ->> 'edge_threshold'
                                                                from loci_internal.settings(p_namespace_id) s) then
        perform loci_internal.enqueue_decay_change(p_namespace_id, null);
    end if;
    return v_count;
end $$;
comment on function loci_internal.undo_settings(integer, text, uuid) is
    'Make edge types and settings what they were before an operation; how many. Errors: 22023.';
