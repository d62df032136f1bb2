-- Which namespaces may the caller read? Policies ask once per statement (scalar subquery). A key that names its
-- namespaces reads those alone. What has moved to another cell has no row in namespaces, and is not read. A probe of
-- two primary keys for each grant. Security definer: reads grants, which callers may not.
create or replace function loci.readable_namespaces() returns integer[]
language plpgsql stable parallel safe security definer set search_path = ''
as $$
declare
    v_caller uuid := loci.current_agent();
begin
    if exists (select from loci_data.agents where id = v_caller and kind = 'operator') then
        return array(select id from loci_data.namespaces);
    end if;
    return array(select g.namespace_id from loci_data.grants g
                 where g.agent_id = v_caller and (g.expires_at is null or g.expires_at > clock_timestamp())
                   and loci_internal.key_reaches(g.namespace_id)
                   and exists (select from loci_data.namespaces n where n.id = g.namespace_id));
end $$;
comment on function loci.readable_namespaces() is
    'Ids of the namespaces that the caller holds a grant in; all of them for the operator, none without an agent.';
