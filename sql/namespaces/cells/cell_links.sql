-- How do the other cells follow this one? A row for each of them: whether it is connected, and how many bytes of log it
-- has not confirmed; a single row without `other` for a cell that is alone, and none without cells. moves: of namespaces
-- from here that are under way. A look at the slots. Operator only. Errors: 42501.
create or replace function loci_api.cell_links()
returns table (cell integer, other integer, followed boolean, behind_bytes bigint, moves integer)
language plpgsql stable security definer set search_path = ''
as $$
begin
    perform loci_internal.require_operator('look at the cells');
    return query
    select h.id, o.id, coalesce(s.active and (pg_is_in_recovery() or s.confirmed_flush_lsn <= pg_current_wal_flush_lsn()),
                                false),
           case when not pg_is_in_recovery()
                then greatest(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), s.confirmed_flush_lsn), 0)::bigint end,
           (select count(*) from loci_data.namespace_moves m where m.step not in ('planned', 'emptied'))::integer
    from loci_data.cells h
    left join loci_data.cells o on not o.here
    left join pg_catalog.pg_replication_slots s on s.slot_name = format('loci_identity_%s_to_%s', h.id, o.id)
    where h.here
    order by o.id;
end $$;
comment on function loci_api.cell_links() is
    'How the other cells follow this one. Operator only. Errors: 42501.';
