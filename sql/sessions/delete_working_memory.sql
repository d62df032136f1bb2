-- Delete an entry of working memory, where the caller writes (working_memory_key): one's own, in a space of one's own
-- any, as an admin any. deleted false: it was not there, or had expired (it goes then, too). Safe beside writers:
-- what a writer renews meanwhile is judged as renewed. Security definer: writes past the policies; checks the caller
-- itself. Errors: 42501, P0002, 22023.
create or replace function loci_api.delete_working_memory(p_namespace text, p_key text, p_space text default null)
returns table (key text, deleted boolean)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_ns      integer := loci_internal.authorize(p_namespace, 'writer');
    v_key     text := loci_internal.working_memory_key(v_ns, p_key, p_space, true);
    v_own     boolean := loci_internal.owns_space(v_ns, split_part(v_key, '/', 1) || '/' || split_part(v_key, '/', 2));
    v_now     timestamptz;
    v_owner   uuid;
    v_expires timestamptz;
begin
    select w.agent_id, w.expires_at into v_owner, v_expires from loci_data.working_memory w
    where w.namespace_id = v_ns and w.key = v_key for update;
    v_now := clock_timestamp();
    if v_expires > v_now and v_owner <> loci.current_agent() and not v_own and not loci_internal.is_admin(v_ns) then
        raise insufficient_privilege using column = 'key',
            message = format('the entry %s belongs to another agent', v_key),
            hint = 'Only its agent and admins delete it; it goes when it expires.';
    end if;
    delete from loci_data.working_memory w where w.namespace_id = v_ns and w.key = v_key
        and w.expires_at is not distinct from v_expires;
    if v_expires > v_now then
        perform loci_internal.log_working_memory_write(v_ns, 'erased', v_key);
    end if;
    return query select v_key, coalesce(v_expires > v_now, false);
end $$;
comment on function loci_api.delete_working_memory(text, text, text) is
    'Delete an entry of working memory; whether there was a live one. Errors: 42501, P0002, 22023.';
