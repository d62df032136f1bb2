-- Documents are added to the lexical index.

-- Put one memory into the lexical index, as index_documents does many: what nearly all statements add. No two postings
-- of one text share a term, so nothing is grouped. A text whose terms are more than its words goes the way of many.
create or replace function loci_internal.index_document(p_memory loci_data.memories) returns void
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_body     constant text := loci_internal.indexed_text(p_memory);
    v_document tsvector;
begin
    if not loci_internal.is_plain_text(v_body) then
        perform loci_internal.index_documents(p_memory.namespace_id, array[p_memory.id]);
        return;
    end if;
    v_document := loci_internal.cut_words((select n.language from loci_data.namespaces n
                                           where n.id = p_memory.namespace_id), v_body);
    with document as (
        insert into loci_data.memory_texts (namespace_id, memory_id, document)
        values (p_memory.namespace_id, p_memory.id, v_document)
    ), term as materialized (
        select u.lexeme, cardinality(u.positions) as frequency, sum(cardinality(u.positions)) over () as length
        from unnest(v_document) u
    ), posted as (
        insert into loci_data.postings (namespace_id, term, size, entries)
        select p_memory.namespace_id, hashtextextended(t.lexeme, 0), 1,
               array[loci_internal.pack_posting(p_memory.doc_id, t.frequency, t.length)]
        from term t
    )
    insert into loci_data.corpus_counts (namespace_id, documents, terms)
    select p_memory.namespace_id, 1, coalesce(sum(t.frequency), 0) from term t;
end $$;
comment on function loci_internal.index_document(loci_data.memories) is
    'Add a memory to memory_texts, postings and corpus_counts.';

-- Put memories into the lexical index: their tsvector, one block of postings a term and 1,024 memories, and one row of
-- counts. Appends only, so that two writers never wait for each other. The words of a text that is all ASCII and
-- one piece are cut once: its terms are those of its tsvector (document_terms would cut them again).
create or replace function loci_internal.index_documents(p_namespace_id integer, p_ids uuid[]) returns void
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_language regconfig := (select language from loci_data.namespaces where id = p_namespace_id);
begin
    with text as materialized (
        select b.*, loci_internal.cut_words(v_language, b.body) as document,
               loci_internal.is_plain_text(b.body) as plain
        from (select m.id, m.doc_id, loci_internal.indexed_text(m) as body,
                     (row_number() over (order by m.doc_id) - 1) / 1024 as block from loci_data.memories m
              where m.namespace_id = p_namespace_id and m.id = any (p_ids) offset 0) b
    ), document as (
        insert into loci_data.memory_texts (namespace_id, memory_id, document)
        select p_namespace_id, t.id, t.document from text t
    ), cut as (
        select t.doc_id, t.block, hashtextextended(u.lexeme, 0) as term, cardinality(u.positions) as frequency
        from text t cross join lateral unnest(t.document) u where t.plain
        union all
        select t.doc_id, t.block, d.term, d.frequency::integer
        from text t cross join lateral loci_internal.document_terms(v_language, t.body) d where not t.plain
    ), term as materialized (
        select c.*, sum(c.frequency) over (partition by c.doc_id) as length from cut c
    ), posted as (
        insert into loci_data.postings (namespace_id, term, size, entries)
        select p_namespace_id, e.term, count(*), array_agg(e.entry order by e.entry)
        from (select term, block,
                     loci_internal.pack_posting(doc_id, frequency, length) as entry
              from term) e
        group by e.term, e.block
    )
    insert into loci_data.corpus_counts (namespace_id, documents, terms)
    select p_namespace_id, cardinality(p_ids), coalesce(sum(frequency), 0) from term;
end $$;
comment on function loci_internal.index_documents(integer, uuid[]) is
    'Add memories to memory_texts, postings and corpus_counts.';

-- The words of a text as the index of phrases has them; a long text is cut off, since a tsvector holds 1 MiB. Inlines.
create or replace function loci_internal.cut_words(p_language regconfig, p_body text) returns tsvector
language sql immutable parallel safe
return to_tsvector(p_language, loci_internal.short_runs(left(p_body, 200000)));
comment on function loci_internal.cut_words(regconfig, text) is
    'Words of a text, as memory_texts has them.';

-- Are the terms of a text those of its words as they are: is it all ASCII, and one piece? Inlines.
create or replace function loci_internal.is_plain_text(p_body text) returns boolean
language sql immutable parallel safe
return octet_length(p_body) = length(p_body) and length(p_body) <= 190000;
comment on function loci_internal.is_plain_text(text) is
    'Whether the terms of a text are its words.';

-- An entry of postings: the document in the high 40 bits, then the frequency of the term in it, and its length in
-- terms, both as far as their bits go. Inlines.
create or replace function loci_internal.pack_posting(p_doc_id bigint, p_frequency bigint, p_length bigint)
returns bigint
language sql immutable parallel safe
return (p_doc_id << 23) | (least(p_frequency, 255) << 15) | least(p_length, 32767);
comment on function loci_internal.pack_posting(bigint, bigint, bigint) is
    'A document with the frequency of a term and its length, as postings hold it.';
