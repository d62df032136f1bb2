-- The namespaces that a key reaches: its agent's grants, also those whose time is over, of those that the key names. One index scan.
-- Called by what changes keys; internal.
create or replace function loci.key_namespaces(p_key loci_data.api_keys) returns setof integer
language sql stable set search_path = ''
as $$
    select g.namespace_id from loci_data.grants g
    where g.agent_id = p_key.agent_id and (p_key.namespaces is null or g.namespace_id = any (p_key.namespaces))
    order by g.namespace_id
$$;
comment on function loci.key_namespaces(loci_data.api_keys) is 'Numbers of the namespaces that a key reaches. Internal.';
