-- The id by which a node of the hierarchy is shown: that of its earliest version that is left. It is the node's own, unless that
-- version was erased. One or two index look-ups. Called by list_links; internal.
create or replace function loci.first_version(p_namespace_id integer, p_node uuid) returns uuid
language sql stable parallel safe
as $$
    select m.id from loci_data.memories m
    where m.namespace_id = p_namespace_id and m.lineage_id = p_node
    order by m.id <> p_node, m.version limit 1
$$;
comment on function loci.first_version(integer, uuid) is 'Id of the earliest version of a lineage that was not erased. Internal.';
