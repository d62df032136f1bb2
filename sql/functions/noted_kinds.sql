-- Which kinds of things did an operation change? {kinds: {kind: count}}; erased: kinds of which it deleted something for good; swept: true
-- where some of its changes are not kept any more. Index changes_operation. Called by begin_undo; internal.
create or replace function loci.noted_kinds(p_namespace_id integer, p_operation uuid) returns jsonb
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with noted as materialized (
        select x.kind, x.action, sum(x.count) as count, sum(x.moved) as moved from (
            select c.kind, c.action, count(*) as count, count(*) as moved from loci_data.changes c
            where c.namespace_id = p_namespace_id and c.operation_id = p_operation group by c.kind, c.action
            union all
            select o.kind, o.action, count(*), 0 from loci_data.outbox o
            where o.namespace_id = p_namespace_id and o.operation_id = p_operation group by o.kind, o.action) x
        group by x.kind, x.action
    )
    select jsonb_strip_nulls(jsonb_build_object(
        'kinds', (select coalesce(jsonb_object_agg(k.kind, k.count), '{}') from (select n.kind, sum(n.count) as count from noted n group by n.kind) k),
        'erased', (select string_agg(n.kind, ', ' order by n.kind) from noted n
                   where n.action = 'erased' and n.kind <> all ('{turn,working_memory,key,grant}')),
        'swept', (select true where (select coalesce(sum(t.count), 0) from loci_data.operation_counts t
                                     where t.namespace_id = p_namespace_id and t.operation_id = p_operation)
                                    > (select coalesce(sum(n.moved), 0) from noted n))))
$$;
comment on function loci.noted_kinds(integer, uuid) is 'Kinds of things that an operation changed. Internal.';
