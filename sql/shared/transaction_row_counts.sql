-- How many rows of each table has this transaction added, changed and deleted? As the server counts them
-- (pg_stat_xact), so triggers, cascades and tables to come are in; partitions count for their table; the record of
-- the change itself and locks are no part of it. The difference to an earlier answer: pass it in. Errors: 55000 where
-- the server does not count.
create or replace function loci_internal.transaction_row_counts(p_before jsonb default '{}') returns jsonb
language plpgsql volatile set search_path = ''
as $$
begin
    if current_setting('track_counts') = 'off' then
        raise object_not_in_prerequisite_state using message = 'a receipt needs the server to count rows',
            hint = 'Set track_counts = on.';
    end if;
    return (
        select jsonb_object_agg(d.kind, d.tables)
        from (select n.kind, coalesce(jsonb_object_agg(n.name, n.times) filter (where n.times <> 0), '{}') as tables
              from (select k.kind, r.relname as name,
                           sum(k.times) - coalesce((p_before -> k.kind ->> r.relname::text)::bigint, 0) as times
                    from pg_class c
                    join pg_class r on r.oid = coalesce(pg_partition_root(c.oid), c.oid)
                    cross join lateral (values ('added', pg_stat_get_xact_tuples_inserted(c.oid)),
                                               ('changed', pg_stat_get_xact_tuples_updated(c.oid)),
                                               ('deleted', pg_stat_get_xact_tuples_deleted(c.oid))) k(kind, times)
                    where c.relnamespace = 'loci_data'::regnamespace and c.relkind = 'r'
                      and c.relname not in ('operations', 'outbox', 'changes', 'turn_locks')
                    group by k.kind, r.relname) n
              group by n.kind) d);
end $$;
comment on function loci_internal.transaction_row_counts(jsonb) is
    'Rows added, changed and deleted by this transaction, by table, less an earlier answer.';
