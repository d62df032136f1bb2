-- How many neighbours may HNSW look at for p_limit of one namespace before an exact scan is cheaper? null: scan exactly
-- from the start. Sums the namespace's corpus_counts; the size of its partition is the planner's. See scan_limit.
create or replace function loci_internal.hnsw_scan_limit(p_namespace_id integer, p_limit integer) returns integer
language sql stable
as $$
    select loci_internal.scan_limit(n.size, p.size, p_limit)
    from (select coalesce(sum(c.documents), 0)::double precision as size
          from loci_data.corpus_counts c where c.namespace_id = p_namespace_id) n,
         (select coalesce(max(c.reltuples), 0) as size from pg_catalog.pg_class c
          where c.oid = (select v.tableoid from loci_data.memory_vectors v
                         where v.namespace_id = p_namespace_id limit 1)) p
$$;
comment on function loci_internal.hnsw_scan_limit(integer, integer) is
    'Neighbours that HNSW may visit for a limit in a namespace; null where an exact scan is cheaper.';

-- How many neighbours may HNSW look at for p_limit of p_size vectors, in a partition that holds p_partition? null: an
-- exact scan is cheaper. The first 128 neighbours of the graph cost as much as computing about 2,500 distances in a row
-- (measured: 4,000 take 2.5 ms exactly and 1.4 through HNSW, 9,900 take 6.2 and 1.8), and each further one as much as
-- about 100. The graph is shared by the namespaces of a hash partition, so p_limit of this one take p_limit ×
-- partition / namespace visits (measured: 5,000 of 57,000 take 27 ms through HNSW and 1.5 exactly; 50,000 of them 3
-- and 25). Pure.
create or replace function loci_internal.scan_limit(p_size double precision, p_partition double precision,
                                                    p_limit integer) returns integer
language sql immutable parallel safe
return case when p_size > 2500 and greatest(p_limit, 100) * greatest(p_size, p_partition)
                                   <= p_size * (128 + (p_size - 2500) / 100)
    then (128 + (p_size - 2500) / 100)::integer end;
comment on function loci_internal.scan_limit(double precision, double precision, integer) is
    'Neighbours that HNSW may visit; null where an exact scan is cheaper.';

-- Candidates that HNSW keeps while it looks (ef_search), for the neighbours that scan_limit allows: 128 up to 12,500
-- vectors, then with the power 0.35 of their number, at most 1,000, which pgvector allows. With 128 throughout, 0.96 of
-- the ten nearest were found among 100,000 vectors, and 0.90 among 500,000. Pure.
create or replace function loci_internal.hnsw_candidates(p_budget integer) returns integer
language sql immutable parallel safe
return least(1000, greatest(128, (128 * power(greatest(p_budget - 103, 0) / 125.0, 0.35))::integer));
comment on function loci_internal.hnsw_candidates(integer) is
    'ef_search for a number of neighbours that HNSW may visit.';
