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

-- The postings of a range, read back from its impacts: tf = norm * x / (1 - x) with x = impact / weight. Cost: 1 µs a
-- posting, 8,000 places for a term that more than a thousand documents have.
create or replace function loci_internal.range_postings(p_namespace_id integer, p_range integer)
returns table (term bigint, doc_id bigint, frequency integer, length integer)
language sql stable set search_path from current
as $$
    with range as materialized (
        select r.slope, d.document, d.place from loci_data.lexical_ranges r
        cross join lateral unnest(r.documents) with ordinality d(document, place)
        where r.namespace_id = p_namespace_id and r.range = p_range and d.document > 0
    ), impact as (
        select i.term, i.weight::double precision as weight, split_part(e.pair, ':', 1)::bigint as place,
               split_part(e.pair, ':', 2)::double precision as impact
        from loci_data.lexical_impacts i
        cross join lateral string_to_table(split_part(substr(i.sparse::text, 2), '}', 1), ',') e(pair)
        where i.namespace_id = p_namespace_id and i.range = p_range and i.sparse is not null
        union all
        select i.term, i.weight, e.place, e.impact
        from loci_data.lexical_impacts i
        cross join lateral unnest(i.dense::vector::real[]) with ordinality e(impact, place)
        where i.namespace_id = p_namespace_id and i.range = p_range and i.dense is not null and e.impact > 0
    )
    select i.term, r.document >> 15,
           round((0.3 + r.slope * (r.document & 32767)) * i.impact / (i.weight - i.impact))::integer,
           (r.document & 32767)::integer
    from impact i join range r using (place)
$$;
comment on function loci_internal.range_postings(integer, integer) is
    'Postings of a range of the lexical index: term, document, frequency, length.';
