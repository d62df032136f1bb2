-- The namespace that a caller means who names none: the only one it has a grant in (and its key works in). Null for
-- none, several, or the operator.
create or replace function loci_internal.only_granted_namespace(p_agent uuid) returns text
language sql stable parallel safe security definer set search_path = ''
as $$
    select case when count(*) = 1 then min(n.name) end
    from loci_data.grants g join loci_data.namespaces n on n.id = g.namespace_id
    where g.agent_id = p_agent and loci_internal.key_reaches(g.namespace_id)
      and (g.expires_at is null or g.expires_at > clock_timestamp())
$$;
comment on function loci_internal.only_granted_namespace(uuid) is
    'Name of the only namespace that an agent has a grant in, else null.';
