-- Ranges of a large lexical index: impacts at write time, and their search.

-- The ranking of search_text in a namespace that has ranges: exact BM25, for p_limit memories that pass the filter.
-- Impacts of the terms are added up by pgvector, a vector a range. They are those of the statistics of then, so they
-- only choose candidates: everything above a floor, whose scores are then counted exactly from frequencies and lengths
-- (rank_candidates). A document below the floor has at most the floor times a factor, or plus a slack (impact_drift);
-- if the last result has no more than that, or too few pass, the floor goes down, at the end to 0, which all matches
-- are above. Documents that are still in blocks are scored beside it. Cost: 10 to 20 µs a term and range; 0.4 µs a
-- posting in blocks.
create or replace function loci_internal.search_ranges(
    p_namespace_id integer, p_ranges integer[], p_slopes double precision[], p_terms bigint[],
    p_documents double precision, p_slope double precision, p_filter loci_internal.memory_filter, p_limit integer)
returns table (id uuid, doc_id bigint, score double precision)
language plpgsql stable set search_path from current set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_sums    vector[];
    v_weights double precision[];  -- of p_terms, as they are now
    v_factor  double precision;
    v_slack   double precision;
    v_matches bigint;
    v_sample  real[];
    v_floor   double precision;
    v_want    integer := p_limit * 6 / 5 + 10;
    v_least   double precision;    -- what is not looked at has no more
    v_ids     uuid[];
    v_docs    bigint[];
    v_scores  double precision[];
begin
    select d.weights, d.factor, d.slack, d.matches into v_weights, v_factor, v_slack, v_matches
    from loci_internal.impact_drift(p_namespace_id, p_ranges, p_slopes, p_terms, p_documents, p_slope) d;
    select array_agg(t.total order by t.range), array_agg(t.range order by t.range) into v_sums, p_ranges
    from (select i.range, sum(coalesce(i.sparse::vector, i.dense::vector)) as total
          from loci_data.lexical_impacts i
          where i.namespace_id = p_namespace_id and i.range = any (p_ranges) and i.term = any (p_terms)
          group by i.range) t;
    v_sample := array(select s from unnest(v_sums) v cross join lateral unnest(subvector(v, 1, 125)::real[]) s
                      where s > 0 order by s desc limit 512);
    loop
        v_floor := coalesce(v_floor, case when v_matches > 2 * v_want
                                     then loci_internal.impact_floor(v_sums, v_sample, v_want) else 0 end);
        select a.* into v_ids, v_docs, v_scores, v_least
        from loci_internal.rank_above_floor(p_namespace_id, p_ranges, v_sums, v_floor::real, p_terms, v_weights,
                                            p_slope, p_filter, p_limit, v_want) a;
        if coalesce(cardinality(v_ids), 0) < p_limit then
            exit when v_floor = 0 and v_least = 0;
            v_want := v_want * 4;
            v_floor := null;
        else
            exit when v_scores[p_limit] > v_least
                  and (v_floor = 0 or v_scores[p_limit] > least(v_floor * v_factor, v_floor + v_slack));
            v_want := case when v_scores[p_limit] > v_least then v_want else v_want * 4 end;
            v_floor := least(v_floor, greatest(v_scores[p_limit] / v_factor, v_scores[p_limit] - v_slack) * 0.99999);
        end if;
    end loop;
    return query select u.id, u.doc_id, u.score from unnest(v_ids, v_docs, v_scores) u(id, doc_id, score);
end $$;
comment on function loci_internal.search_ranges(integer, integer[], double precision[], bigint[], double precision,
                                                double precision, loci_internal.memory_filter, integer) is
    'Memories by exact BM25 in a namespace whose postings are in ranges and in blocks.';

-- One try of search_ranges: the best p_limit that pass the filter, of documents in ranges whose sum is above a floor,
-- and of the best p_want in blocks. rest: what the others in blocks have at most.
create or replace function loci_internal.rank_above_floor(
    p_namespace_id integer, p_ranges integer[], p_sums vector[], p_floor real, p_terms bigint[],
    p_weights double precision[], p_slope double precision, p_filter loci_internal.memory_filter, p_limit integer,
    p_want integer, out ids uuid[], out doc_ids bigint[], out scores double precision[], out rest double precision)
language plpgsql stable
as $$
begin
    with entry as (
        select w.weight, unnest(p.entries) as entry
        from unnest(p_terms, p_weights) w(term, weight)
        join loci_data.postings p on p.namespace_id = p_namespace_id and p.term = w.term
    ), tail as materialized (
        select e.entry >> 23 as doc_id,
               sum(e.weight / (1 + (0.3 + p_slope * (e.entry & 32767)) / (e.entry >> 15 & 255))) as score
        from entry e group by 1 order by 2 desc, 1 limit p_want
    ), best as (  -- looked up from the best down, and no further than needed
        select m.id, c.doc_id, c.score
        from (select f.doc_id, f.score
              from (select r.doc_id, r.score
                    from loci_internal.rank_candidates(p_namespace_id, p_ranges, p_sums, p_floor, p_terms, p_weights,
                                                       p_slope) r
                    union all
                    select t.doc_id, t.score from tail t) f
              order by f.score desc, f.doc_id offset 0) c
        cross join lateral (
            select o.id from loci_data.memories o
            where o.namespace_id = p_namespace_id and o.doc_id = c.doc_id
              and loci_internal.memory_is_visible(o, p_filter) limit 1) m
        order by c.score desc, c.doc_id limit p_limit
    )
    select array_agg(b.id order by b.score desc, b.doc_id), array_agg(b.doc_id order by b.score desc, b.doc_id),
           array_agg(b.score order by b.score desc, b.doc_id),
           (select case when count(*) = p_want then min(t.score) else 0 end from tail t)
    into ids, doc_ids, scores, rest from best b;
end $$;
comment on function loci_internal.rank_above_floor(
    integer, integer[], vector[], real, bigint[], double precision[], double precision, loci_internal.memory_filter,
    integer, integer) is
    'Best memories by BM25 among those above a floor and those in blocks.';

-- The weights of terms as they are now, and how far the impacts of ranges may be below what they would be now: at most
-- times factor, and a document's sum by at most slack. matches: documents that have any of the terms, at most.
create or replace function loci_internal.impact_drift(
    p_namespace_id integer, p_ranges integer[], p_slopes double precision[], p_terms bigint[],
    p_documents double precision, p_slope double precision)
returns table (weights double precision[], factor double precision, slack double precision, matches bigint)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    return query
    with impact as materialized (
        select i.term, i.size, i.weight::double precision * least(1, p_slope / r.slope) as weight
        from unnest(p_ranges, p_slopes) r(range, slope)
        join loci_data.lexical_impacts i on i.namespace_id = p_namespace_id and i.range = r.range
            and i.term = any (p_terms)
    ), ranged as (
        select i.term, sum(i.size) as size, min(i.weight) as least from impact i group by i.term
    ), term as materialized (
        select u.term, u.nth, coalesce(r.size, 0) as ranged, r.least, coalesce(r.size, 0)::double precision + coalesce((
                   select sum(p.size) from loci_data.postings p
                   where p.namespace_id = p_namespace_id and p.term = u.term), 0) as df
        from unnest(p_terms) with ordinality u(term, nth) left join ranged r using (term)
    ), weighed as (
        select t.*, ln(1 + (greatest(p_documents, t.df) - t.df + 0.5) / (t.df + 0.5)) * 2.2 as weight from term t
    )
    -- 16-bit floats are off by 1/2048 at most
    select array_agg(w.weight::double precision order by w.nth), 1.0005 * greatest(max(w.weight / w.least), 1),
           sum(greatest(1.0005 * w.weight - w.least, 0)), sum(w.ranged)::bigint
    from weighed w;
end $$;
comment on function loci_internal.impact_drift(integer, integer[], double precision[], bigint[], double precision,
                                               double precision) is
    'Weights of terms now, and bounds of how far stored impacts are below them.';

-- A floor that at least p_want sums are above, and not many more: 0 where there is none. Guessed from a sample of one
-- in 64, best first, and counted.
create or replace function loci_internal.impact_floor(p_sums vector[], p_sample real[], p_want integer) returns real
language plpgsql immutable set search_path from current
as $$
declare
    v_nth   integer := 2 + p_want / 60;
    v_floor real;
begin
    loop
        v_floor := coalesce(p_sample[v_nth], 0);
        exit when v_floor = 0 or p_want <= (
            select sum(bit_count(binary_quantize(s - f.floor)))
            from (select array_fill(v_floor, array[8000])::vector as floor) f cross join unnest(p_sums) s);
        v_nth := v_nth * 2;
    end loop;
    return v_floor;
end $$;
comment on function loci_internal.impact_floor(vector[], real[], integer) is
    'A number that at least so many sums of impacts are above, and not many more.';

-- Write ranges of the lexical index, of p_size documents each: impacts of documents whose postings are in these blocks,
-- and of those of a range that will be replaced (null: none). One sort of the postings; the document frequencies of all
-- terms.
create or replace function loci_internal.write_lexical_ranges(
    p_namespace_id integer, p_old integer, p_size integer, p_documents bigint[], p_terms bigint[], p_blocks bigint[])
returns void
language plpgsql volatile set search_path from current set plan_cache_mode = force_custom_plan set work_mem = '32MB'
as $$
declare
    v_new    integer := 1 + coalesce((select max(r.range) from loci_data.lexical_ranges r
                                      where r.namespace_id = p_namespace_id), 0);
    v_corpus bigint;
    v_slope  double precision;
begin
    select sum(c.documents), 0.9 * sum(c.documents) / greatest(sum(c.terms), 1) into v_corpus, v_slope
    from loci_data.corpus_counts c where c.namespace_id = p_namespace_id;
    with entry as materialized (
        select p.term, e >> 23 as doc_id, (e >> 15 & 255)::integer as frequency, (e & 32767)::integer as length
        from unnest(p_terms, p_blocks) b(term, id)
        join loci_data.postings p on p.namespace_id = p_namespace_id and p.term = b.term and p.id = b.id
        cross join lateral unnest(p.entries) e
        where e >> 23 = any (p_documents)
        union all
        select o.term, o.doc_id, o.frequency, o.length
        from loci_internal.range_postings(p_namespace_id, p_old) o
    ), document as materialized (
        select d.doc_id, max(d.length) as length,
               v_new + (row_number() over (order by d.doc_id) - 1) / p_size as range,
               (row_number() over (order by d.doc_id) - 1) % p_size + 1 as place
        from (select e.doc_id, e.length from entry e
              union all
              select u.doc_id, 0 from unnest(p_documents) u(doc_id)
              union all
              select o.document >> 15, 0
              from loci_data.lexical_ranges r cross join lateral unnest(r.documents) o(document)
              where r.namespace_id = p_namespace_id and r.range = p_old and o.document > 0) d
        group by d.doc_id
    ), range as (
        insert into loci_data.lexical_ranges (namespace_id, range, first, last, places, size, slope, corpus, documents)
        select p_namespace_id, d.range, min(d.doc_id), max(d.doc_id), count(*), count(*), v_slope, v_corpus,
               array_agg(d.doc_id << 15 | d.length order by d.place)
        from document d group by d.range
    ), term as materialized (
        select f.term, (ln(1 + (greatest(v_corpus, f.df) - f.df + 0.5) / (f.df + 0.5)) * 2.2)::real as weight
        from (select s.term, sum(s.size)::double precision as df
              from (select p.term, p.size from loci_data.postings p where p.namespace_id = p_namespace_id
                    union all
                    select i.term, i.size from loci_data.lexical_impacts i where i.namespace_id = p_namespace_id) s
              group by s.term) f
    ), impact as materialized (
        select d.range, e.term, t.weight, e.frequency, d.place, 0.3 + v_slope * d.length as norm,
               (t.weight::double precision * e.frequency / (e.frequency + 0.3 + v_slope * d.length))::real as impact
        from entry e join document d using (doc_id) join term t using (term)
    ), vector as (
        select i.range, i.term, i.weight, count(*) as size,
               ('{' || string_agg(i.place || ':' || i.impact, ',' order by i.place) || '}/8000')::sparsevec as impacts,
               -- shorter as 16-bit floats, and frequencies can still be told apart
               count(*) > 2000 and min(i.impact) > 0.0001
                   and max(i.frequency * (i.frequency + i.norm) / i.norm) < 900 as dense
        from impact i group by i.range, i.term, i.weight
    )
    insert into loci_data.lexical_impacts (namespace_id, range, term, size, weight, sparse, dense)
    select p_namespace_id, v.range, v.term, v.size, v.weight, case when not v.dense then v.impacts end,
           case when v.dense then v.impacts::halfvec end
    from vector v order by v.range, v.term;
end $$;
comment on function loci_internal.write_lexical_ranges(integer, integer, integer, bigint[], bigint[], bigint[]) is
    'Write impacts of documents as ranges of the lexical index.';
