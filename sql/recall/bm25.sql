-- BM25: how memories are ranked by the words of a question.

-- What does one word add to a document's score (BM25, Robertson and Zaragoza, 2009; k1 = 1.2, b = 0.75)? p_frequency:
-- of the word in the document; p_holders: documents that have it, of p_documents; p_length against p_mean: words of the
-- document, and on average. Pure, inlines.
create or replace function loci_internal.bm25_score(
    p_frequency double precision, p_holders double precision, p_documents double precision, p_length double precision,
    p_mean double precision)
returns double precision
language sql immutable parallel safe
return ln(1 + (p_documents - p_holders + 0.5) / (p_holders + 0.5)) * 2.2 * p_frequency
       / (p_frequency + 1.2 * (0.25 + 0.75 * p_length / greatest(p_mean, 1)));
comment on function loci_internal.bm25_score(double precision, double precision, double precision, double precision,
                                             double precision) is
    'Score of one word in a document.';

-- The work of search_text: exact BM25 (Robertson and Zaragoza, 2009; k1 = 1.2, b = 0.75) over the terms of a question,
-- OR-ed, with the namespace's own statistics. A large namespace has ranges (search_ranges); any other reads the blocks
-- of each term by the primary key of postings, then walks down the ranking until p_limit memories pass the filter:
-- first among the best 4 × p_limit, and only if that did not suffice among all. Callers have checked the rights; it
-- reads past the policies. Cost: about 0.4 µs a posting.
create or replace function loci_internal.rank_text(p_namespace_id integer, p_terms loci_internal.question_terms,
                                                   p_filter loci_internal.memory_filter, p_limit integer)
returns table (id uuid, doc_id bigint, score double precision)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_tried  integer := p_limit * 4;
    v_found  record;
    v_ranges integer[];
    v_slopes double precision[];
begin
    select array_agg(r.range), array_agg(r.slope) into v_ranges, v_slopes
    from loci_data.lexical_ranges r where r.namespace_id = p_namespace_id;
    if v_ranges is not null then
        return query
        select s.id, s.doc_id, s.score
        from loci_internal.search_ranges(p_namespace_id, v_ranges, v_slopes, p_terms.terms, p_terms.documents,
                                         p_terms.slope, p_filter, p_limit) s;
        return;
    end if;
    loop
        v_found := loci_internal.rank_postings(p_namespace_id, p_terms, p_filter, p_limit, v_tried);
        exit when coalesce(cardinality(v_found.ids), 0) >= p_limit or v_tried is null or v_found.matches <= v_tried;
        v_tried := null;
    end loop;
    return query select u.* from unnest(v_found.ids, v_found.doc_ids, v_found.scores) u;
end $$;
comment on function loci_internal.rank_text(integer, loci_internal.question_terms, loci_internal.memory_filter,
                                            integer) is
    'Memories by exact BM25 over a question''s terms (OR), best first.';

-- One try of rank_text: the best p_limit that pass the filter among the best p_tried (null: all). matches: documents
-- that have a term, counted once for each of theirs. Looked up from the best down, and no further than needed.
create or replace function loci_internal.rank_postings(
    p_namespace_id integer, p_terms loci_internal.question_terms, p_filter loci_internal.memory_filter, p_limit integer,
    p_tried integer, out ids uuid[], out doc_ids bigint[], out scores double precision[], out matches bigint)
language plpgsql stable
as $$
begin
    with block as materialized (  -- term by term, so that equal documents have equal sums
        select p.size, p.entries, w.weight from unnest(p_terms.terms, p_terms.weights) w(term, weight)
        cross join lateral (select o.size, o.entries from loci_data.postings o
                            where o.namespace_id = p_namespace_id and o.term = w.term offset 0) p
    ), entry as (
        select b.weight, unnest(b.entries) as entry from block b
    ), scored as (
        select entry >> 23 as doc_id,
               sum(weight / (1 + (0.3 + p_terms.slope * (entry & 32767)) / (entry >> 15 & 255))) as score
        from entry group by 1
    ), passed as (
        select m.id, b.score, b.doc_id
        from (select s.doc_id, s.score from scored s order by s.score desc, s.doc_id limit p_tried) b
        cross join lateral (
            select m.id from loci_data.memories m
            where m.namespace_id = p_namespace_id and m.doc_id = b.doc_id
              and loci_internal.memory_is_visible(m, p_filter) limit 1) m
        order by b.score desc, b.doc_id limit p_limit
    )
    select array_agg(p.id order by p.score desc, p.doc_id), array_agg(p.doc_id order by p.score desc, p.doc_id),
           array_agg(p.score order by p.score desc, p.doc_id), (select coalesce(sum(b.size), 0) from block b)
    into ids, doc_ids, scores, matches from passed p;
end $$;
comment on function loci_internal.rank_postings(integer, loci_internal.question_terms, loci_internal.memory_filter,
                                                integer, integer) is
    'Best memories by BM25 among the best of those that have a term.';

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

-- How many memories of a namespace have a term? A range of the primary key of postings, and a probe for each range of
-- the lexical index. Inlines into the caller's plan, as a call of its own costs as much as the look-up; offset 0: else
-- it is counted wherever it is used.
create or replace function loci_internal.document_frequency(p_namespace_id integer, p_term bigint)
returns table (df double precision)
language sql stable
as $$
    select coalesce((select sum(p.size) from loci_data.postings p
                     where p.namespace_id = p_namespace_id and p.term = p_term), 0)::double precision
           + coalesce((select sum(i.size) from loci_data.lexical_ranges r
                       join loci_data.lexical_impacts i on i.namespace_id = p_namespace_id and i.range = r.range
                            and i.term = p_term
                       where r.namespace_id = p_namespace_id), 0)::double precision
    offset 0
$$;
comment on function loci_internal.document_frequency(integer, bigint) is
    'Number of memories that have a term; one row.';

-- Which memories say this, in words? Exact BM25 over the terms of the question, OR-ed (rank_text). Security definer
-- (row-level security keeps planner from good plans); checks first.
create or replace function loci.search_text(
    p_namespace text, p_query text, p_limit integer default null, p_filter jsonb default '{}',
    p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (id uuid, doc_id bigint, score double precision)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
    v_limit  integer := coalesce(p_limit, (loci_internal.settings(v_ns) ->> 'depth')::integer);
begin
    return query
    select r.id, r.doc_id, r.score
    from loci_internal.rank_text(v_ns, loci_internal.weigh_terms(v_ns, p_query, null), v_filter, v_limit) r;
end $$;
comment on function loci.search_text(text, text, integer, jsonb, timestamptz, timestamptz) is
    'Memories by exact BM25 over the question''s terms (OR), best first. Filters, as_of and known_at apply before the '
    'limit. Errors: 42501, P0002, 22023.';

-- What does the graph say beside the results of a lexical search? The entities that the
-- question names, as in a recall; the rules of these and of pinned ones; and for each document the entities that it
-- mentions, the rarest first, at most 20. mentions: {document: [{id, name, type}]}, without documents that mention
-- none. Both times as the search has them. A range of the primary key of memory_mentions for each document, and a
-- look-up for each entity. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.search_context(p_namespace text, p_query text, p_documents bigint[],
                                                   p_as_of timestamptz default null,
                                                   p_known_at timestamptz default null)
returns table (entities jsonb, constraints json, mentions jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
begin
    select jsonb_agg(to_jsonb(e) order by e.position, e.id) into entities
    from loci.match_entities(p_namespace, p_query, p_as_of, p_known_at) e;
    select w.constraints into constraints
    from loci_api.recall_walk_arm(p_namespace, array(select (e ->> 'id')::uuid from jsonb_array_elements(entities) e
                                             order by (e ->> 'mentions')::integer desc, e ->> 'id'), false,
                                  '{}', p_as_of, p_known_at) w;
    select jsonb_object_agg(d.doc_id, n.named) into mentions
    from unnest(p_documents) d(doc_id)
    cross join lateral (select o.id from loci_data.memories o where o.namespace_id = v_namespace_id
                        and o.doc_id = d.doc_id limit 1) m
    cross join lateral (
        select jsonb_agg(jsonb_build_object('id', b.id, 'name', b.name, 'type', b.type) order by b.mentions,
                         b.id) as named
        from (select e.* from loci_data.memory_mentions t
              cross join lateral loci_internal.entities_at(v_namespace_id, array[t.entity_id], p_as_of,
                                                           p_known_at) e
              where t.namespace_id = v_namespace_id and t.memory_id = m.id
              order by e.mentions, e.id limit 20) b) n
    where n.named is not null;
    return next;
end $$;
comment on function loci_api.search_context(text, text, bigint[], timestamptz, timestamptz) is
    'Entities that a question names, rules of these and pinned ones, and the entities that each document mentions; '
    'one row. Errors: 42501, P0002.';
