-- Let a namespace go that another cell has, and has moved more often: this database was set back to before its move.
-- Its row, its feed and its locks go, and the directory says where it is; rows are deleted by empty_namespace. As a
-- superuser with session_replication_role = replica, so that nothing follows.
create or replace function loci_internal.release_namespace(p_namespace_id integer, p_cell_id integer, p_moves integer)
returns void
language plpgsql volatile set search_path = ''
as $$
begin
    perform loci_internal.hold_namespace(p_namespace_id);
    delete from loci_data.namespace_locks l where l.namespace_id = p_namespace_id;
    delete from loci_data.feeds f where f.namespace_id = p_namespace_id;
    delete from loci_data.namespaces n where n.id = p_namespace_id;
    delete from loci_data.namespace_moves m where m.namespace_id = p_namespace_id;
    update loci_data.namespace_cells c set cell_id = p_cell_id, moves = p_moves where c.namespace_id = p_namespace_id;
    perform loci_internal.empty_namespace(p_namespace_id);
end $$;
comment on function loci_internal.release_namespace(integer, integer, integer) is
    'Let a namespace go that another cell has. Errors: 55000.';
