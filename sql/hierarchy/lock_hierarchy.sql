-- Wait for this transaction's turn at the hierarchy of a namespace: alone to move what may have something under it,
-- together with others to add leaves. Held to the end of the transaction.
create or replace function loci_internal.lock_hierarchy(p_namespace_id integer, p_alone boolean) returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_key bigint := hashtextextended('loci.hierarchy', p_namespace_id);
begin
    if p_alone then
        perform pg_advisory_xact_lock(v_key);
    else
        perform pg_advisory_xact_lock_shared(v_key);
    end if;
end $$;
comment on function loci_internal.lock_hierarchy(integer, boolean) is
    'Lock the hierarchy of a namespace for this transaction, alone or shared.';
