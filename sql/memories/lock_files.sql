-- The files at a path or below it, locked until the transaction ends, so that what is written follows what was read. A
-- file is a lineage named by its path, and its text the visible version; p_below: everything under the path too. Rows
-- of lineages are locked in order of name, as by remember. Cost as that of list_files. Security definer: locks past the
-- policies; checks the caller itself. Errors: 42501, P0002 (namespace).
create or replace function loci_api.lock_files(p_namespace text, p_path text, p_below boolean default false)
returns table (id uuid, path text, content text, metadata jsonb)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'writer');
begin
    if p_below then
        perform from loci_data.lineages l
        where l.namespace_id = v_ns and (l.lineage = p_path or starts_with(l.lineage, p_path || '/'))
        order by l.lineage for update;
    else
        perform from loci_data.lineages l where l.namespace_id = v_ns and l.lineage = p_path for update;
    end if;
    return query select f.id, f.path, f.content, f.metadata
                 from loci_api.list_files(p_namespace, p_path, p_below) f;
end $$;
comment on function loci_api.lock_files(text, text, boolean) is
    'The files at a path, and with p_below under it, locked until the transaction ends. Errors: 42501, P0002.';
