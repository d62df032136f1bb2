-- What of an operation was changed again since, and by which operation? One row a thing; undoing it would take the later change back too.
-- The later operation is the last that changed the thing; null where that is this one, because something else stands in the way.
-- p_kinds: those that the operation has. Index changes_subject. Called by undo_operation; internal.
create or replace function loci.changed_since(p_namespace_id integer, p_operation uuid, p_kinds text[])
returns table (kind text, name text, subject_id uuid, operation_id uuid, action text)
language sql stable set search_path = ''
as $$
    with changed as (
        select 'memory' as kind, m as subject_id, m::text as name from loci.changed_memories(p_namespace_id, p_operation) m where 'memory' = any (p_kinds)
        union all
        select 'placement', p, p::text from loci.changed_places(p_namespace_id, p_operation) p where 'placement' = any (p_kinds)
        union all
        select 'link', l, l::text from loci.changed_links(p_namespace_id, p_operation) l where 'link' = any (p_kinds)
        union all
        select 'entity', e, e::text from loci.changed_entities(p_namespace_id, p_operation) e where 'entity' = any (p_kinds) and 'merge' <> all (p_kinds)
        union all
        select 'edge', e, e::text from loci.changed_edges(p_namespace_id, p_operation) e where 'edge' = any (p_kinds) and 'merge' <> all (p_kinds)
        union all
        select 'attribute', a, a::text from loci.changed_attributes(p_namespace_id, p_operation) a
        where p_kinds && '{aspect,attribute,supersession}' and 'merge' <> all (p_kinds)
        union all
        select s.kind, s.subject_id, s.name from loci.changed_settings(p_namespace_id, p_operation) s where p_kinds && '{edge_type,namespace,grant}'
    )
    select c.kind, c.name, c.subject_id, o.id, o.action
    from changed c
    left join lateral (
        select x.operation_id from (
            (select 1 as place, w.id as nth, w.operation_id from loci_data.outbox w
             where w.namespace_id = p_namespace_id and w.subject_id = c.subject_id order by w.id desc limit 1)
            union all
            (select 0, h.position, h.operation_id from loci_data.changes h
             where h.namespace_id = p_namespace_id and h.subject_id = c.subject_id order by h.position desc limit 1)) x
        order by x.place desc, x.nth desc limit 1) l on true
    left join loci_data.operations o on o.namespace_id = p_namespace_id and o.id = l.operation_id and o.id <> p_operation
    order by c.kind, c.name
$$;
comment on function loci.changed_since(integer, uuid, text[]) is 'Things of an operation that were changed since, and by which operation. Internal.';
