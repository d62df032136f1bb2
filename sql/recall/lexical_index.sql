-- Lexical index: it follows memories, and documents are taken out of posting blocks.

-- Trigger, once per inserting statement: index the new memories by words at once, and queue them for vectors and names.
create or replace function loci_internal.index_added_memories() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
    v_memory loci_data.memories;
begin
    if (select count(*) from added) = 1 then
        select a.* into v_memory from added a;
        perform loci_internal.index_document(v_memory);
    else
        perform loci_internal.index_documents(a.namespace_id, array_agg(a.id)) from added a group by a.namespace_id;
    end if;
    with embedded as (
        insert into loci_data.embedding_queue (namespace_id, memory_id, model_id)
        select a.namespace_id, a.id, m.id from added a cross join loci_data.embedding_models m where m.in_use
    )
    insert into loci_data.name_queue (namespace_id, memory_id) select a.namespace_id, a.id from added a;
    return null;
end $$;
comment on function loci_internal.index_added_memories() is
    'Trigger: index inserted memories and queue them for embedding.';

-- Trigger: words of a memory changed (content, tags, category, who, when), so its entries are taken out and put in
-- anew. A place in the queue that a worker holds is not waited for: the worker compares the text before it is done.
create or replace function loci_internal.index_changed_memory() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
    perform loci_internal.unindex_document(old);
    perform loci_internal.index_document(new);
    insert into loci_data.embedding_queue (namespace_id, memory_id, model_id, has_vector)
    select new.namespace_id, new.id, m.id, exists (
               select from loci_data.memory_vectors v
               where v.namespace_id = new.namespace_id and v.memory_id = new.id and v.model_id = m.id)
    from loci_data.embedding_models m where m.in_use
    on conflict do nothing;
    return null;
end $$;
comment on function loci_internal.index_changed_memory() is
    'Trigger: re-index a memory whose indexed text changed.';

-- Trigger, once per deleting statement: deleted memories leave no posting, no count and no waiting job behind. One
-- memory goes by its exact entries, many in one pass over the blocks of their terms. Texts and vectors go by their
-- foreign keys.
create or replace function loci_internal.unindex_memories() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
    v_ns        record;
    v_memory    loci_data.memories;
    v_terms     bigint[];
    v_documents bigint[];
    v_ranged    bigint[];
    v_length    bigint;
begin
    for v_ns in select n.id, n.language, n.accents_kept, count(*) as memories, array_agg(g.id) as ids,
               n.indexed_by <> current_setting('server_version_num')::integer / 10000 as cut_otherwise
               from gone g join loci_data.namespaces n on n.id = g.namespace_id group by n.id loop
        -- by a list, not by a join: where the statistics think both small, that compares each with each
        delete from loci_data.embedding_queue q where q.namespace_id = v_ns.id and q.memory_id = any (v_ns.ids);
        delete from loci_data.name_queue q where q.namespace_id = v_ns.id and q.memory_id = any (v_ns.ids);
        if v_ns.memories = 1 then
            select g.* into v_memory from gone g where g.namespace_id = v_ns.id;
            perform loci_internal.unindex_document(v_memory);
            continue;
        end if;
        select array_agg(distinct d.term), coalesce(sum(d.frequency), 0), array_agg(distinct g.doc_id) into v_terms,
               v_length, v_documents
        from gone g left join lateral loci_internal.document_terms(v_ns.language,
                                                                   loci_internal.indexed_text(
                                                                       row(g.*)::loci_data.memories)) d on true
        where g.namespace_id = v_ns.id;
        if v_ns.accents_kept then
            v_terms := array(select distinct d.term from gone g
                             cross join lateral loci_internal.document_terms(
                                 v_ns.language, loci_internal.indexed_text(row(g.*)::loci_data.memories), true) d
                             where g.namespace_id = v_ns.id);
        end if;
        if v_ns.cut_otherwise then
            v_terms := null;  -- all of them: see unindex_document
        end if;
        perform loci_internal.lock_shared(v_ns.id, 'postings');
        v_ranged := loci_internal.remove_impacts(
            v_ns.id, case when v_ns.cut_otherwise then null else coalesce(v_terms, '{}') end, v_documents);
        if cardinality(v_ranged) < cardinality(v_documents) then
            if v_terms is not null or v_ns.cut_otherwise then
                perform loci_internal.remove_postings(v_ns.id, v_terms, v_documents);
            end if;
        end if;
        insert into loci_data.corpus_counts (namespace_id, documents, terms)
        values (v_ns.id, -v_ns.memories, -v_length);
    end loop;
    return null;
end $$;
comment on function loci_internal.unindex_memories() is
    'Trigger: remove deleted memories from the lexical index and the queues.';

-- The lexical index and the embedding queue follow memories inside the same transaction.
create or replace trigger memories_index_added after insert on loci_data.memories
    referencing new table as added for each statement execute function loci_internal.index_added_memories();

-- The lexical index and the embedding queue follow memories inside the same transaction.
create or replace trigger memories_index_changed after update on loci_data.memories
    for each row when (loci_internal.indexed_text(old) is distinct from loci_internal.indexed_text(new))
    execute function loci_internal.index_changed_memory();

-- The lexical index and the embedding queue follow memories inside the same transaction.
create or replace trigger memories_unindex after delete on loci_data.memories
    referencing old table as gone for each statement execute function loci_internal.unindex_memories();

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
           array_agg(loci_internal.pack_posting(p_memory.doc_id, d.frequency, d.length::bigint) order by d.term)
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

-- Take the postings of documents out of blocks, under the lock of the index; 55P03 where these are not what they were
-- when they were read. The rest of the blocks is written anew.
create or replace function loci_internal.take_postings(p_namespace_id integer, p_documents bigint[], p_terms bigint[],
                                                       p_blocks bigint[], p_size bigint) returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = force_custom_plan
as $$
declare
    v_taken bigint;
begin
    with gone as (
        delete from loci_data.postings p using unnest(p_terms, p_blocks) b(term, id)
        where p.namespace_id = p_namespace_id and p.term = b.term and p.id = b.id
        returning p.term, p.size, p.entries
    ), entry as (
        select g.term, e.entry, (row_number() over (partition by g.term order by e.entry) - 1) / 1024 as block
        from gone g cross join lateral unnest(g.entries) e(entry)
        where e.entry >> 23 <> all (p_documents)
    ), kept as (
        insert into loci_data.postings (namespace_id, term, size, entries)
        select p_namespace_id, e.term, count(*), array_agg(e.entry order by e.entry) from entry e
        group by e.term, e.block
    )
    select coalesce(sum(g.size), 0) into v_taken from gone g;
    if v_taken <> p_size
       or (select count(*) from loci_data.memories m where m.namespace_id = p_namespace_id
           and m.doc_id = any (p_documents)) <> cardinality(p_documents) then
        raise lock_not_available;
    end if;
end $$;
comment on function loci_internal.take_postings(integer, bigint[], bigint[], bigint[], bigint) is
    'Take documents out of blocks of postings that nobody has changed since they were read.';
