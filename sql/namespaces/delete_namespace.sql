-- Remove a namespace and everything in it, in one transaction. Admin. Cascades follow the foreign keys. Background work
-- on it is waited for and held off (hold_namespace).
create or replace function loci_api.delete_namespace(p_namespace text) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'admin');
begin
    perform loci_internal.hold_namespace(v_ns);
    -- Evidence first: a foreign key of rows written in this same transaction is checked again when its edge goes.
    delete from loci_data.edge_observations where namespace_id = v_ns;
    delete from loci_data.namespaces where id = v_ns;
end $$;
comment on function loci_api.delete_namespace(text) is
    'Delete a namespace and everything in it. Admin. Errors: 42501, P0002.';
