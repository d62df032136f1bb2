-- Take one memory out of the lexical index: given the row as it was indexed. Blocks that become empty go.
-- Cost: the blocks of its terms. Called by triggers; internal.
create or replace function loci.unpost_document(p_memory loci_data.memories) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_terms  bigint[];
    v_length bigint;
begin
    select array_agg(d.term), coalesce(sum(d.frequency), 0) into v_terms, v_length
    from loci_data.namespaces n cross join lateral loci.document_terms(n.language, loci.index_text(p_memory)) d
    where n.id = p_memory.namespace_id;

    perform pg_advisory_xact_lock_shared(hashtextextended('loci_data.postings', p_memory.namespace_id));
    delete from loci_data.postings p
    where p.namespace_id = p_memory.namespace_id and p.term = any (v_terms) and p.size = 1
      and p.entries[1] >> 23 = p_memory.doc_id;
    with kept as (
        select p.term, p.id, array(select e from unnest(p.entries) e where e >> 23 <> p_memory.doc_id order by e) as entries
        from loci_data.postings p
        where p.namespace_id = p_memory.namespace_id and p.term = any (v_terms)
          and p_memory.doc_id between p.entries[1] >> 23 and p.entries[p.size] >> 23
    )
    update loci_data.postings p set entries = k.entries, size = cardinality(k.entries)
    from kept k
    where p.namespace_id = p_memory.namespace_id and p.term = k.term and p.id = k.id and cardinality(k.entries) < p.size;
    delete from loci_data.memory_texts where namespace_id = p_memory.namespace_id and memory_id = p_memory.id;
    insert into loci_data.corpus_counts (namespace_id, documents, terms)
    select p_memory.namespace_id, -1, -v_length from loci_data.namespaces where id = p_memory.namespace_id;
end $$;
comment on function loci.unpost_document(loci_data.memories) is 'Remove a memory from memory_texts, postings and corpus_counts. Internal.';
