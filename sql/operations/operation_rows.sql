-- Operations by id with who did them and how many changes each made, by kind and action: those that have their position
-- in the feed are counted already, those that still wait in the outbox, which is short, are counted here. So an
-- operation is complete once it is committed. Primary keys, and one range of the outbox.
create or replace function loci_internal.operation_rows(p_namespace_id integer, p_ids uuid[])
returns table (id uuid, action text, via text, agent_id uuid, agent text, key_id uuid, request_id text,
               started_at timestamptz,
               undoes uuid, undone_by uuid, changes jsonb)
language sql stable parallel safe
as $$
    with waiting as materialized (
        select w.operation_id, w.kind, w.action, count(*) as count from loci_data.outbox w
        where w.namespace_id = p_namespace_id and w.operation_id = any (p_ids) group by 1, 2, 3
    )
    select o.id, o.action, o.via, o.agent_id, a.name, o.key_id, o.request_id, o.started_at, o.undoes, o.undone_by,
           (select coalesce(jsonb_object_agg(n.kind || '.' || n.action, n.count), '{}')
            from (select c.kind, c.action, sum(c.count) as count
                  from (select p.kind, p.action, p.count from loci_data.operation_counts p
                        where p.namespace_id = p_namespace_id and p.operation_id = o.id
                        union all select w.kind, w.action, w.count from waiting w where w.operation_id = o.id) c
                  group by c.kind, c.action) n)
    from loci_data.operations o
    left join loci_data.agents a on a.id = o.agent_id
    where o.namespace_id = p_namespace_id and o.id = any (p_ids)
    order by o.started_at desc, o.id desc
$$;
comment on function loci_internal.operation_rows(integer, uuid[]) is
    'Operations with agents and counts of changes, newest first.';
