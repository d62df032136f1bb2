-- One entry of working memory, by plain key in the caller's own space or by full path in any. One primary key look-up.
-- Security definer: past the policies; checks the caller itself. Errors: 42501, P0002 (namespace; an entry that is not
-- there or has expired), 22023.
create or replace function loci.get_working_memory(p_namespace text, p_key text, p_space text default null)
returns table (key text, space text, value jsonb, category text, tags text[], stored_at timestamptz,
               expires_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'reader');
    v_key text := loci_internal.working_memory_key(v_ns, p_key, p_space, false);
    v_now timestamptz := clock_timestamp();
begin
    return query
    select w.key, w.space, w.value, w.category, w.tags, w.stored_at, w.expires_at
    from loci_data.working_memory w where w.namespace_id = v_ns and w.key = v_key and w.expires_at > v_now;
    if not found then
        raise no_data_found using column = 'key',
            message = format('working memory holds no %L, or it has expired', v_key);
    end if;
end $$;
comment on function loci.get_working_memory(text, text, text) is
    'An entry of working memory that has not expired. Errors: 42501, P0002, 22023.';
