-- What did an operation change, all in all? One row a thing of a kind: fields as they were before the first of its changes, and as they
-- were after the last. created, erased: it did not exist before; it does not exist since. A thing without an id (edge_type, namespace)
-- has its key in after. Index changes_operation; changes that wait in the outbox stand after those in the feed. About 10 µs a change.
-- Called by everything that undoes; internal.
create or replace function loci.net_changes(p_namespace_id integer, p_operation uuid, p_kind text)
returns table (subject_id uuid, created boolean, erased boolean, before jsonb, after jsonb)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with noted as (
        select 0 as place, c.position as nth, c.subject_id, c.action, c.before, c.after from loci_data.changes c
        where c.namespace_id = p_namespace_id and c.operation_id = p_operation and c.kind = p_kind
        union all
        select 1, o.id, o.subject_id, o.action, o.before, o.after from loci_data.outbox o
        where o.namespace_id = p_namespace_id and o.operation_id = p_operation and o.kind = p_kind
    ), gathered as (
        select n.subject_id, bool_or(n.action = 'created') as created, bool_or(n.action = 'erased') as erased, count(*) as times,
               array_agg(n.before order by n.place, n.nth) as befores, array_agg(n.after order by n.place, n.nth) as afters
        from noted n group by n.subject_id, case when p_kind = 'edge_type' then n.after ->> 'type' end
    )
    select g.subject_id, g.created, g.erased,
           case when g.times = 1 then g.befores[1] else (
               select jsonb_object_agg(f.key, f.value order by b.nth desc)
               from unnest(g.befores) with ordinality b(fields, nth) cross join lateral jsonb_each(b.fields) f) end,
           case when g.times = 1 then g.afters[1] else (
               select jsonb_object_agg(f.key, f.value order by a.nth)
               from unnest(g.afters) with ordinality a(fields, nth) cross join lateral jsonb_each(a.fields) f) end
    from gathered g
$$;
comment on function loci.net_changes(integer, uuid, text) is 'Things of a kind that an operation changed, as they were before it and after it. Internal.';
