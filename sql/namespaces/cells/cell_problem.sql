-- Why must no service start over this database? Null: it may, and always where there are no cells. A database that was
-- set back to an earlier moment has lost the slots by which the other cells follow it, or these have confirmed more log
-- than it has, and may claim what has moved since; and a cell must not have what its directory has elsewhere. Called by the service before
-- anybody is let in, so it names no namespace. Security definer: reads past the policies.
create or replace function loci_api.cell_problem() returns text
language sql stable security definer set search_path = ''
as $$
    select case
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
comment on function loci_api.cell_problem() is
    'Why no service may start over the database of this cell; null where it may.';

-- Which cell is this database? Null without cells. Security definer: reads past the policies.
create or replace function loci_api.cell_number() returns integer
language sql stable security definer set search_path = ''
as $$ select c.id from loci_data.cells c where c.here $$;
comment on function loci_api.cell_number() is 'Number of this cell; null without cells.';
