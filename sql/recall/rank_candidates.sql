-- The documents of ranges whose sum of impacts is above a floor, with their exact scores: frequencies are read back
-- from the impacts (see range_postings). Places are found as the ones in a string of bits: the text of the bits, cut at
-- them. Cost: 50 µs a range, 0.5 µs a document and term.
create or replace function loci_internal.rank_candidates(
    p_namespace_id integer, p_ranges integer[], p_sums vector[], p_floor real, p_terms bigint[],
    p_weights double precision[], p_slope double precision)
returns table (doc_id bigint, score double precision)
language plpgsql stable set search_path from current set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    return query
    with above as (
        select s.range, (binary_quantize(s.total - f.floor))::text as bits
        from (select array_fill(p_floor, array[8000])::vector as floor offset 0) f
        cross join unnest(p_ranges, p_sums) s(range, total)
    ), ranged as materialized (
        select a.range, array_agg(z.place) filter (where z.place <= 8000) as places
        from above a
        cross join lateral (
            select (sum(length(c.zeros) + 1) over (order by c.nth))::integer as place
            from string_to_table(a.bits, '1') with ordinality c(zeros, nth)) z
        group by a.range
    ), candidate as materialized (
        select r.range, r.slope, u.place, r.documents[u.place] as document
        from (select g.range, g.places, l.slope, l.documents || '{}'::bigint[] as documents  -- read once
              from ranged g join loci_data.lexical_ranges l on l.namespace_id = p_namespace_id and l.range = g.range
              where g.places is not null offset 0) r
        cross join lateral unnest(r.places) u(place)
    ), impact as materialized (  -- else the vectors are sorted with it
        select d.document, d.document & 32767 as length, w.weight, w.nth, i.weight as weight_then, g.slope,
               (subvector(i.impacts, d.place, 1)::real[])[1]::double precision as impact
        from (select c.range, c.slope, array_agg(c.document) as documents, array_agg(c.place) as places
              from candidate c group by c.range, c.slope) g
        cross join unnest(p_terms, p_weights) with ordinality w(term, weight, nth)
        cross join lateral (
            select o.weight::double precision as weight, coalesce(o.sparse::vector, o.dense::vector) as impacts
            from loci_data.lexical_impacts o
            where o.namespace_id = p_namespace_id and o.range = g.range and o.term = w.term offset 0) i
        cross join lateral unnest(g.documents, g.places) d(document, place)
    ), posting as (
        select i.document >> 15 as doc_id, i.length, i.weight, i.nth,
               round((0.3 + i.slope * i.length) * i.impact / (i.weight_then - i.impact)) as frequency
        from impact i where i.impact > 0
    )
    select p.doc_id, sum(p.weight / (1 + (0.3 + p_slope * p.length) / p.frequency) order by p.nth)
    from posting p group by p.doc_id;
end $$;
comment on function loci_internal.rank_candidates(integer, integer[], vector[], real, bigint[], double precision[],
                                                  double precision) is
    'Documents of ranges whose sum of impacts is above a floor, with exact BM25 scores.';
