-- Make this database a cell: its new namespaces have numbers from the cell's range, ten millions each, and the
-- directory has those that are here. A database with namespaces may be the first cell alone; another one loses the
-- empty `default`, which is in the first. Again with the same number it changes nothing. Owner. Errors: 55000.
create or replace function loci_internal.set_cell(p_id integer) returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_range constant integer := 10000000;
    v_now   integer := (select c.id from loci_data.cells c where c.here);
    v_first integer := (p_id - 1) * v_range + 1;
begin
    if v_now = p_id then
        return;
    elsif v_now is not null then
        raise object_not_in_prerequisite_state using
            message = format('this database is cell %s, and cannot become cell %s', v_now, p_id);
    elsif p_id <> 1 then
        delete from loci_data.namespaces n
        where n.name = 'default' and not exists (select from loci_data.operations o where o.namespace_id = n.id);
        if exists (select from loci_data.namespaces) then
            raise object_not_in_prerequisite_state using
                message = format('a database with namespaces can be cell 1 alone, not cell %s', p_id),
                hint = 'Make the cell from an empty database, and move namespaces to it.';
        end if;
    end if;
    insert into loci_data.cells (id, here) values (p_id, true)
    on conflict (id) do update set here = true;
    execute format('alter table loci_data.namespaces alter column id set minvalue %s set maxvalue %s set start %s %s',
                   v_first, v_first + v_range - 1, v_first,
                   case when p_id > 1 then 'restart' else '' end);
    insert into loci_data.namespace_cells (namespace_id, name, cell_id)
    select n.id, n.name, p_id from loci_data.namespaces n
    on conflict (namespace_id) do nothing;
end $$;
comment on function loci_internal.set_cell(integer) is
    'Make this database the cell with this number. Errors: 55000.';
