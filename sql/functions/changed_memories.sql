-- Which memories of an operation are neither as it left them nor as it found them? Something has changed them since, so undoing it
-- would take that back too. One that it wrote and that is forgotten by now, or erased, is no matter.
-- A probe of the primary key a memory. Called by changed_since; internal.
create or replace function loci.changed_memories(p_namespace_id integer, p_operation uuid) returns setof uuid
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select n.subject_id
    from loci.net_changes(p_namespace_id, p_operation, 'memory') n
    cross join lateral (select x as memory, x.status from loci_data.memories x
                        where x.namespace_id = p_namespace_id and x.id = n.subject_id limit 1) m
    cross join lateral jsonb_populate_record(m.memory, case when n.created then '{"valid_to": null, "superseded_at": null}'::jsonb || n.after
                                                            else n.after end) a
    cross join lateral jsonb_populate_record(m.memory, coalesce(n.before, '{}')) b
    where n.after is not null and not (n.created and m.status = 'forgotten')
      and (a.valid_from, a.valid_to, a.superseded_at, a.status, loci.memory_details(a))
          is distinct from ((m.memory).valid_from, (m.memory).valid_to, (m.memory).superseded_at, (m.memory).status, loci.memory_details(m.memory))
      and (n.created or (b.valid_from, b.valid_to, b.superseded_at, b.status, loci.memory_details(b))
          is distinct from ((m.memory).valid_from, (m.memory).valid_to, (m.memory).superseded_at, (m.memory).status, loci.memory_details(m.memory)))
$$;
comment on function loci.changed_memories(integer, uuid) is 'Memories of an operation that were changed since. Internal.';
