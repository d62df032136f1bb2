-- How many neighbours may HNSW look at for p_limit of p_size vectors, in a partition that holds p_partition? null: an exact scan is
-- cheaper. Visiting one neighbour of the graph costs as much as computing about 100 distances in a row, so the budget is a hundredth
-- of the namespace. The graph is shared by the namespaces of a hash partition, so p_limit of this one take p_limit × partition /
-- namespace visits (measured: 5,000 of 57,000 take 27 ms through HNSW and 1.5 exactly; 50,000 of them 3 and 25).
-- Pure. Called by hnsw_budget and similar_entities; internal.
create or replace function loci.scan_budget(p_size double precision, p_partition double precision, p_limit integer) returns integer
language sql immutable parallel safe
return case when p_size / 100 * p_size > greatest(p_limit, 100) * greatest(p_size, p_partition) then (p_size / 100)::integer end;
comment on function loci.scan_budget(double precision, double precision, integer) is 'Neighbours that HNSW may visit; null where an exact scan is cheaper. Internal.';
