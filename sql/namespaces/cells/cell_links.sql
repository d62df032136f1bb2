-- Links between cells: who follows whom, how far behind, and what is wrong with a cell.

-- How do the other cells follow this one? A row for each of them: whether it is connected and takes no more log than
-- there is, and how many bytes it has not confirmed; a single row without `other` for a cell that is alone, and none
-- without cells. moves: of namespaces from here that are under way. A look at the slots. Security definer: reads past
-- the policies. Operator only. Errors: 42501.
create or replace function loci_api.cell_links()
returns table (cell integer, other integer, followed boolean, behind_bytes bigint, moves integer)
language plpgsql stable security definer set search_path = ''
as $$
begin
    perform loci_internal.require_operator('look at the cells');
    return query
    select h.id, o.id, coalesce(s.active and (pg_is_in_recovery() or s.confirmed_flush_lsn
                                              <= pg_current_wal_flush_lsn()), false),
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

-- Which cell is this database, and why must no service start over it (problem null: one may)? No row without cells. A
-- database that was set back to an earlier moment has lost the slots by which the other cells follow it, or these have
-- confirmed more log than it has, and it may claim what has moved since; and a cell must not have what its directory
-- has elsewhere. Names no namespace: nobody is known yet where it is asked. Security definer: reads past the policies.
create or replace function loci_api.cell_state() returns table (cell integer, problem text)
language sql stable security definer set search_path = ''
as $$
    select c.id, case
        when exists (select from loci_data.namespaces n join loci_data.namespace_cells p on p.namespace_id = n.id
                     where p.cell_id <> c.id)
            then 'it has a namespace that its directory has in another cell: run `loci cell check`'
        when exists (select from loci_data.cells o
                     where not o.here and o.database_url is not null and not exists (
                         select from pg_catalog.pg_replication_slots s
                         where s.slot_name = format('loci_identity_%s_to_%s', c.id, o.id)
                           and (pg_is_in_recovery() or s.confirmed_flush_lsn <= pg_current_wal_flush_lsn())))
            then 'it was set back to an earlier moment, or promoted without its slots: run `loci cell check`, then '
                 '`loci cell add` for it' end
    from loci_data.cells c where c.here
$$;
comment on function loci_api.cell_state() is
    'Number of this cell, and why no service may start over its database; no row without cells.';
