-- Take one memory out of the lexical index, given the row as it was indexed: out of the range that holds it
-- (remove_impacts), else out of the blocks. Its entries are known to the bit (see index_documents), so that only the
-- blocks that hold them are read in full and written; should one not be found, its blocks are searched by document,
-- those of its words with accents as well.
-- Where another major version of PostgreSQL has cut its words, all terms are looked at: that one may have stemmed some
-- of them otherwise (repair_lexical_index). Cost: 2 ms among 20,000.
create or replace function loci_internal.unindex_document(p_memory loci_data.memories) returns void
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_terms   bigint[];
    v_all     bigint[];  -- with those that it has if it was indexed before (accents_kept)
    v_entries bigint[];
    v_length  bigint;
    v_changed integer;
    v_deleted integer;
    v_server  integer := current_setting('server_version_num')::integer / 10000;
begin
    select array_agg(d.term order by d.term), coalesce(max(d.length), 0),
           array_agg((p_memory.doc_id << 23) | (least(d.frequency, 255)::bigint << 15) | least(d.length, 32767)::bigint
                     order by d.term)
    into v_terms, v_length, v_entries
    from (select t.term, t.frequency, sum(t.frequency) over () as length
          from loci_data.namespaces n
          cross join lateral loci_internal.document_terms(n.language, loci_internal.indexed_text(p_memory)) t
          where n.id = p_memory.namespace_id) d;
    select array_agg(t.term) into v_all
    from loci_data.namespaces n
    cross join lateral loci_internal.document_terms(n.language, loci_internal.indexed_text(p_memory), true) t
    where n.id = p_memory.namespace_id and n.accents_kept;

    perform loci_internal.lock_shared(p_memory.namespace_id, 'postings');
    if exists (select from loci_data.namespaces n where n.id = p_memory.namespace_id and n.indexed_by <> v_server) then
        perform loci_internal.remove_impacts(p_memory.namespace_id, null, array[p_memory.doc_id]);
        perform loci_internal.remove_postings(p_memory.namespace_id, null, array[p_memory.doc_id]);
        v_terms := null;
    elsif cardinality(loci_internal.remove_impacts(p_memory.namespace_id, coalesce(v_all, v_terms, '{}'),
                                                   array[p_memory.doc_id])) > 0 then
        v_terms := null;
    end if;
    update loci_data.postings p set entries = array_remove(p.entries, g.entry), size = p.size - 1
    from unnest(v_terms, v_entries) g(term, entry)
    where p.namespace_id = p_memory.namespace_id and p.term = g.term and p.size > 1
      and g.entry between p.entries[1] and p.entries[p.size] and g.entry = any (p.entries);
    get diagnostics v_changed = row_count;
    delete from loci_data.postings p using unnest(v_terms, v_entries) g(term, entry)
    where p.namespace_id = p_memory.namespace_id and p.term = g.term and p.size = 1 and p.entries[1] = g.entry;
    get diagnostics v_deleted = row_count;
    if v_changed + v_deleted < cardinality(v_terms) then
        perform loci_internal.remove_postings(p_memory.namespace_id, coalesce(v_all, v_terms),
                                              array[p_memory.doc_id]);
    end if;
    delete from loci_data.memory_texts where namespace_id = p_memory.namespace_id and memory_id = p_memory.id;
    insert into loci_data.corpus_counts (namespace_id, documents, terms)
    select p_memory.namespace_id, -1, -v_length from loci_data.namespaces where id = p_memory.namespace_id;
end $$;
comment on function loci_internal.unindex_document(loci_data.memories) is
    'Remove a memory from memory_texts, postings and corpus_counts.';
