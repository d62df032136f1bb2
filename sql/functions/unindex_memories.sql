-- Trigger, once per deleting statement: deleted memories leave no posting, no count and no waiting job behind. One memory goes by its
-- exact entries, many in one pass over the blocks of their terms. Texts and vectors go by their foreign keys.
create or replace function loci.unindex_memories() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
    v_ns        record;
    v_memory    loci_data.memories;
    v_terms     bigint[];
    v_documents bigint[];
    v_length    bigint;
begin
    for v_ns in select n.id, n.language, count(*) as memories from gone g join loci_data.namespaces n on n.id = g.namespace_id group by n.id loop
        delete from loci_data.embedding_queue q using gone g where q.namespace_id = v_ns.id and g.namespace_id = v_ns.id and q.memory_id = g.id;
        delete from loci_data.name_queue q using gone g where q.namespace_id = v_ns.id and g.namespace_id = v_ns.id and q.memory_id = g.id;
        if v_ns.memories = 1 then
            select g.* into v_memory from gone g where g.namespace_id = v_ns.id;
            perform loci.unpost_document(v_memory);
            continue;
        end if;
        select array_agg(distinct d.term), coalesce(sum(d.frequency), 0), array_agg(distinct g.doc_id) into v_terms, v_length, v_documents
        from gone g left join lateral loci.document_terms(v_ns.language, loci.index_text(row(g.*)::loci_data.memories)) d on true
        where g.namespace_id = v_ns.id;
        perform pg_advisory_xact_lock_shared(hashtextextended('loci_data.postings', v_ns.id));
        perform loci.remove_postings(v_ns.id, v_terms, v_documents);
        insert into loci_data.corpus_counts (namespace_id, documents, terms) values (v_ns.id, -v_ns.memories, -v_length);
    end loop;
    return null;
end $$;
comment on function loci.unindex_memories() is 'Trigger: remove deleted memories from the lexical index and the queues.';
