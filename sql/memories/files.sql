-- Files of agents as memories.

-- Which files are at a path, or with p_below under it? A file is a lineage named by its path; its text is the
-- version that is visible now, or its metadata's file where that is blank. In order of path. Below a path, names of
-- all lineages of the namespace are read; then one probe of memories_open_lineage a file. Security definer: past the
-- policies; checks the caller itself. Errors: 42501, P0002 (namespace).
create or replace function loci_api.list_files(p_namespace text, p_path text, p_below boolean default true,
                                               p_now timestamptz default clock_timestamp())
returns table (id uuid, path text, content text, metadata jsonb)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    select m.id, m.lineage, coalesce(m.metadata ->> 'file', m.content), m.metadata
    from (select p_path as lineage
          union all
          select l.lineage from loci_data.lineages l
          where p_below and l.namespace_id = v_ns and starts_with(l.lineage, p_path || '/')) f
    join loci_data.memories m on m.namespace_id = v_ns and m.lineage = f.lineage and m.status = 'active'
         and m.valid_to is null and m.valid_from <= p_now
    order by m.lineage collate "C";
end $$;
comment on function loci_api.list_files(text, text, boolean, timestamptz) is
    'The files at a path and under it, in order of path. Errors: 42501, P0002.';

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

-- Wait for the turn to make or move files in a namespace, to the end of the transaction (take_turn): whether a path is
-- free, and no file stands where another has a folder, is then still so when the file is written. Before lock_files.
-- Security definer; checks the caller itself. Errors: 42501, P0002 (namespace).
create or replace function loci_api.lock_folders(p_namespace text) returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
    perform loci_internal.take_turn(loci_internal.authorize(p_namespace, 'writer'), 'files');
end $$;
comment on function loci_api.lock_folders(text) is
    'Wait for the turn to make or move files in a namespace. Errors: 42501, P0002.';
