-- An operation is undone by this transaction's: it is out of force, what it had undone is in force again, what that had undone is out, and so
-- on down the chain. Returns the operation of this transaction. Called by undo_operation; internal.
create or replace function loci.end_undo(p_namespace_id integer, p_id uuid) returns uuid
language plpgsql volatile set search_path = ''
as $$
declare
    v_by   uuid := loci.operation_of(p_namespace_id);
    v_id   uuid := p_id;
    v_next uuid;
    v_out  boolean := true;
begin
    loop
        update loci_data.operations o set undone_by = case when v_out then v_by end
        where o.namespace_id = p_namespace_id and o.id = v_id returning o.undoes into v_next;
        exit when v_next is null;
        v_by := v_id;
        v_id := v_next;
        v_out := not v_out;
    end loop;
    perform set_config('loci.undoes', '', true);
    return loci.operation_of(p_namespace_id);
end $$;
comment on function loci.end_undo(integer, uuid) is 'Note that an operation is undone by the one of this transaction; its id. Internal.';
