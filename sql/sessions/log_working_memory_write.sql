-- Note a write to working memory where the namespace asks for it (setting log_working_memory; by default it does not:
-- scratch of agents comes and goes a thousand times a second). Key, category, tags and expiry are noted; the value
-- stands with the entry while it lives. One probe of a primary key. That an entry expires is no change.
create or replace function loci_internal.log_working_memory_write(
    p_namespace_id integer, p_action text, p_key text, p_category text default null, p_tags text[] default null,
    p_expires_at timestamptz default null)
returns void
language plpgsql volatile
as $$
begin
    if (select coalesce(n.settings -> 'log_working_memory', loci.default_settings() -> 'log_working_memory') = 'true'
        from loci_data.namespaces n where n.id = p_namespace_id) then
        perform loci_internal.log_change(p_namespace_id, 'working_memory', p_action, null, case
                                         when p_action <> 'created' then jsonb_build_object('key', p_key) end,
            case when p_action <> 'erased' then
                jsonb_build_object('key', p_key, 'category', p_category, 'tags', p_tags, 'expires_at', p_expires_at)
                    end);
    end if;
end $$;
comment on function loci_internal.log_working_memory_write(integer, text, text, text, text[], timestamptz) is
    'Note a write to working memory, if the namespace asks for it.';
