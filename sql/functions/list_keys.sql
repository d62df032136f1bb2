-- The keys that reach a namespace, newest first; never their hashes. Admin.
create or replace function loci.list_keys(p_namespace text, p_limit integer default 100, p_cursor uuid default null)
returns table (id uuid, name text, agent_id uuid, role text, created_at timestamptz, expires_at timestamptz, revoked_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns integer := loci.authorize(p_namespace, 'admin');
begin
    return query
    select k.id, k.name, k.agent_id, g.role, k.created_at, k.expires_at, k.revoked_at
    from loci_data.grants g join loci_data.api_keys k on k.agent_id = g.agent_id
    where g.namespace_id = v_ns and (p_cursor is null or k.id < p_cursor)
    order by k.id desc limit p_limit;
end $$;
comment on function loci.list_keys(text, integer, uuid) is 'API keys with a grant in a namespace, newest first. Admin. Errors: 42501, P0002.';
