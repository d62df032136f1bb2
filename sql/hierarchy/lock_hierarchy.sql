-- Wait for this transaction's turn at the hierarchy of a namespace: alone to move what may have something under it,
-- together with others to add leaves. Held to the end of the transaction.
create or replace function loci_internal.lock_hierarchy(p_namespace_id integer, p_alone boolean) returns void
language plpgsql volatile set search_path = ''
as $$
begin
    if p_alone then
        perform loci_internal.lock_alone(p_namespace_id, 'hierarchy');
    else
        perform loci_internal.lock_shared(p_namespace_id, 'hierarchy');
    end if;
end $$;
comment on function loci_internal.lock_hierarchy(integer, boolean) is
    'Lock the hierarchy of a namespace for this transaction, alone or shared.';
