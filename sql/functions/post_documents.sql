-- Put memories into the lexical index: their tsvector, one block of postings a term (1,024 entries at most), and one row
-- of counts. Appends only, so that two writers never wait for each other. Called by triggers; internal.
create or replace function loci.post_documents(p_namespace_id integer, p_ids uuid[]) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_language regconfig := (select language from loci_data.namespaces where id = p_namespace_id);
begin
    with text as materialized (
        select m.id, m.doc_id, loci.index_text(m) as body
        from loci_data.memories m where m.namespace_id = p_namespace_id and m.id = any (p_ids)
    ), document as (
        insert into loci_data.memory_texts (namespace_id, memory_id, document)
        select p_namespace_id, t.id, to_tsvector(v_language, left(t.body, 200000)) from text t
    ), term as materialized (
        select t.doc_id, d.term, d.frequency, sum(d.frequency) over (partition by t.doc_id) as length
        from text t cross join lateral loci.document_terms(v_language, t.body) d
    ), entry as (
        select term, (doc_id << 23) | (least(frequency, 255)::bigint << 15) | least(length, 32767)::bigint as entry,
               (row_number() over (partition by term order by doc_id) - 1) / 1024 as block
        from term
    ), posted as (
        insert into loci_data.postings (namespace_id, term, size, entries)
        select p_namespace_id, term, count(*), array_agg(entry order by entry) from entry group by term, block
    )
    insert into loci_data.corpus_counts (namespace_id, documents, terms)
    select p_namespace_id, cardinality(p_ids), coalesce(sum(frequency), 0) from term;
end $$;
comment on function loci.post_documents(integer, uuid[]) is 'Add memories to memory_texts, postings and corpus_counts. Internal.';
