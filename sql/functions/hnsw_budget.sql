-- How many neighbours may HNSW look at for p_limit of one namespace before an exact scan is cheaper? null: scan exactly from the
-- start.
-- Sums the namespace's corpus_counts; the size of its partition is the planner's. Called by similar_memories; internal. See scan_budget.
create or replace function loci.hnsw_budget(p_namespace_id integer, p_limit integer) returns integer
language sql stable
as $$
    select loci.scan_budget(n.size, p.size, p_limit)
    from (select coalesce(sum(c.documents), 0)::double precision as size
          from loci_data.corpus_counts c where c.namespace_id = p_namespace_id) n,
         (select coalesce(max(c.reltuples), 0) as size from pg_catalog.pg_class c
          where c.oid = (select v.tableoid from loci_data.memory_vectors v where v.namespace_id = p_namespace_id limit 1)) p
$$;
comment on function loci.hnsw_budget(integer, integer) is 'Neighbours that HNSW may visit for a limit in a namespace; null where an exact scan is cheaper. Internal.';
