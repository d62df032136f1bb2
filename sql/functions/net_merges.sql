-- Which merges and splits did an operation make (created) or undo, or take up again (was_undone_at)? Those among entities that it
-- wrote itself are lines of an import, which go with these. Called by undo_merges and undo_operation; internal.
create or replace function loci.net_merges(p_namespace_id integer, p_operation uuid) returns table (id uuid, created boolean, was_undone_at timestamptz)
language sql stable set search_path = ''
as $$
    select n.subject_id, n.created, (n.before ->> 'undone_at')::timestamptz
    from loci.net_changes(p_namespace_id, p_operation, 'merge') n
    join loci_data.entity_merges m on m.namespace_id = p_namespace_id and m.id = n.subject_id
    where m.kept_id not in (select e.subject_id from loci.net_changes(p_namespace_id, p_operation, 'entity') e where e.created)
      and not (n.created and n.after ->> 'undone_at' is not null)
$$;
comment on function loci.net_merges(integer, uuid) is 'Merges and splits that an operation made or undid. Internal.';
