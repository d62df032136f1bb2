-- Which aspects, attributes and decisions of an operation are neither as it left them nor as it found them? Of an
-- attribute what was said of it counts, and not what follows: a later fact that superseded it is no change of it. An
-- attribute that it wrote and that is deleted by now is no matter, nor is an aspect that it wrote: aspects stay.
-- Primary keys.
create or replace function loci_internal.attributes_changed_since(p_namespace_id integer, p_operation uuid)
returns setof uuid
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select n.subject_id
    from loci_internal.net_changes(p_namespace_id, p_operation, 'attribute') n
    cross join lateral (select x as row from loci_data.attributes x where x.namespace_id = p_namespace_id
                        and x.id = n.subject_id limit 1) t
    cross join lateral jsonb_populate_record(t.row, n.after) a
    cross join lateral jsonb_populate_record(t.row, n.before) b
    where n.after is not null and not (n.created and (t.row).status = 'deleted')
      and (a.aspect_id, a.confidence, a.importance, a.valid_from, a.stated_to, a.ended_at, a.taken_back_at)
          is distinct from ((t.row).aspect_id, (t.row).confidence, (t.row).importance, (t.row).valid_from,
                            (t.row).stated_to, (t.row).ended_at, (t.row).taken_back_at)
      and (n.created or (b.aspect_id, b.confidence, b.importance, b.valid_from, b.stated_to, b.ended_at,
                         b.taken_back_at)
          is distinct from ((t.row).aspect_id, (t.row).confidence, (t.row).importance, (t.row).valid_from,
                            (t.row).stated_to, (t.row).ended_at, (t.row).taken_back_at))
    union all
    select n.subject_id
    from loci_internal.net_changes(p_namespace_id, p_operation, 'aspect') n
    cross join lateral (select x as row from loci_data.aspects x where x.namespace_id = p_namespace_id
                        and x.id = n.subject_id limit 1) t
    cross join lateral jsonb_populate_record(t.row, n.after) a
    cross join lateral jsonb_populate_record(t.row, n.before) b
    where not n.created and n.after is not null
      and (a.weight, a.single_valued) is distinct from ((t.row).weight, (t.row).single_valued)
      and (b.weight, b.single_valued) is distinct from ((t.row).weight, (t.row).single_valued)
    union all
    select n.subject_id
    from loci_internal.net_changes(p_namespace_id, p_operation, 'supersession') n
    cross join lateral (select x.status from loci_data.supersessions x where x.namespace_id = p_namespace_id
                        and x.id = n.subject_id and x.ended_at is null limit 1) s
    where s.status <> n.after ->> 'status' and s.status <> coalesce(n.before ->> 'status', 'undone')
$$;
comment on function loci_internal.attributes_changed_since(integer, uuid) is
    'Aspects, attributes and supersessions of an operation that were changed since.';
