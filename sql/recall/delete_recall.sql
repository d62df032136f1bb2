-- Take a recall out of the log, question and all. Security definer: writes past the policies; checks the caller itself.
-- Errors: 42501, P0002.
create or replace function loci_api.delete_recall(p_namespace text, p_id uuid) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
begin
    delete from loci_data.recalls r where r.namespace_id = v_namespace_id and r.id = p_id;
    if not found then
        raise no_data_found using message = format('recall %s does not exist', p_id), column = 'id';
    end if;
end $$;
comment on function loci_api.delete_recall(text, uuid) is
    'Delete a logged recall. Errors: 42501, P0002.';
