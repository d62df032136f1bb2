-- Trigger: where a namespace is made or deleted in a cell, the directory of all cells says so. A name that it knows in
-- another cell is taken. Without cells there is no directory. Errors: 23505.
create or replace function loci_internal.note_namespace_cell() returns trigger
language plpgsql volatile set search_path = ''
as $$
begin
    if tg_op = 'DELETE' then
        delete from loci_data.namespace_cells c where c.namespace_id = old.id;
    elsif exists (select from loci_data.namespace_cells c where c.name = new.name) then
        raise unique_violation using constraint = 'namespaces_name_key', message = 'the name is taken in another cell';
    else
        insert into loci_data.namespace_cells (namespace_id, name, cell_id)
        select new.id, new.name, c.id from loci_data.cells c where c.here;
    end if;
    return null;
end $$;
comment on function loci_internal.note_namespace_cell() is
    'Trigger: note in the directory that a namespace was made or deleted here. Errors: 23505.';

create or replace trigger namespaces_cells after insert or delete on loci_data.namespaces
    for each row execute function loci_internal.note_namespace_cell();
