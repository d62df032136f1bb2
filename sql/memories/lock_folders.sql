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
