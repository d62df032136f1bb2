-- Is edges.fades_at being moved in this namespace, and not to be trusted? Then readers reckon the effective confidence themselves.
-- A handful of rows. Called by expand_entities, walk_edges and edge_page; internal.
create or replace function loci.is_decaying(p_namespace_id integer) returns boolean
language sql stable parallel safe
as $$
    select exists (select from loci_data.decay_changes c where c.namespace_id = p_namespace_id and c.finished_at is null)
$$;
comment on function loci.is_decaying(integer) is 'Whether a change of decay is not through with all edges of the namespace. Internal.';
