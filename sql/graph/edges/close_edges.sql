-- Stop believing edges, because others are recorded in their place. The caller holds their locks.
create or replace function loci_internal.close_edges(p_namespace_id integer, p_ids uuid[], p_at timestamptz)
returns void
language sql volatile set search_path = '' set enable_seqscan = off
as $$
    update loci_data.edges e set superseded_at = greatest(p_at, e.updated_at), updated_at = greatest(p_at, e.updated_at)
    where e.namespace_id = p_namespace_id and e.id = any(p_ids) and e.superseded_at is null
$$;
comment on function loci_internal.close_edges(integer, uuid[], timestamptz) is
    'Take edges back at a moment.';
