-- Make the lexical index hold the words of each memory as this server cuts them. A later major version of PostgreSQL
-- may stem words otherwise (18 does in German), and a question is cut by the server of today. An earlier Loci kept
-- accents: until such a namespace is repaired, its questions look for words with accents in both ways (accents_kept).
-- Only documents that differ are taken out and put in anew, in one transaction; who adds memories waits for nothing,
-- who changes or erases one waits for the end. Admin. Cost: reads the whole namespace.
create or replace function loci_api.repair_lexical_index(p_namespace text) returns bigint
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns        integer := loci_internal.authorize(p_namespace, 'admin');
    v_documents bigint[];
    v_memories  uuid[];
    v_length    bigint;
begin
    perform loci_internal.lock_alone(v_ns, 'postings');
    select array_agg(w.doc_id), array_agg(w.memory_id) filter (where w.memory_id is not null), sum(w.length)
    into v_documents, v_memories, v_length
    from loci_internal.documents_to_index(v_ns) w;
    if v_documents is not null then
        perform loci_internal.remove_impacts(v_ns, null, v_documents);
        perform loci_internal.remove_postings(v_ns, null, v_documents);
        with gone as (
            delete from loci_data.memory_texts t
            where t.namespace_id = v_ns and t.memory_id = any (v_memories) returning 1
        )
        insert into loci_data.corpus_counts (namespace_id, documents, terms)
        select v_ns, -count(*), -v_length from gone;
        perform loci_internal.index_documents(v_ns, v_memories) where v_memories is not null;
    end if;
    update loci_data.namespaces n
    set indexed_by = current_setting('server_version_num')::integer / 10000, accents_kept = false
    where n.id = v_ns
      and (n.accents_kept or n.indexed_by <> current_setting('server_version_num')::integer / 10000);
    return coalesce(cardinality(v_documents), 0);
end $$;
comment on function loci_api.repair_lexical_index(text) is
    'Index memories anew whose words the lexical index has otherwise, and take out what is of no memory; how many. '
    'Admin. Errors: 42501, P0002.';

-- Which documents does the lexical index hold otherwise than it must? memory_id null: of no memory. length: its words,
-- as the index counts them.
create or replace function loci_internal.documents_to_index(p_namespace_id integer)
returns table (doc_id bigint, memory_id uuid, length bigint)
language sql stable set search_path = ''
as $$
    select coalesce(t.doc_id, h.doc_id), t.memory_id, coalesce(h.length, 0)
    from (select m.doc_id, m.id as memory_id, loci_internal.text_postings(l.language, m) as postings,
                 exists (select from loci_data.memory_texts x where x.namespace_id = p_namespace_id
                         and x.memory_id = m.id) as is_there
          from loci_data.memories m join loci_data.namespaces l on l.id = m.namespace_id
          where m.namespace_id = p_namespace_id) t
    full join (select x.doc_id, x.postings, x.length from loci_internal.indexed_postings(p_namespace_id) x) h
        on h.doc_id = t.doc_id
    where t.postings is distinct from h.postings or not t.is_there
$$;
comment on function loci_internal.documents_to_index(integer) is
    'Documents whose postings are not those of their memory.';

-- How many namespaces have an index that another major version of PostgreSQL has made? Operator only.
create or replace function loci_api.indexes_of_other_servers() returns table (server integer, namespaces bigint)
language plpgsql stable security definer set search_path = ''
as $$
begin
    perform loci_internal.require_operator('see all namespaces');
    return query
    select n.indexed_by, count(*) from loci_data.namespaces n
    where n.indexed_by <> current_setting('server_version_num')::integer / 10000
    group by n.indexed_by order by n.indexed_by;
end $$;
comment on function loci_api.indexes_of_other_servers() is
    'Major versions of PostgreSQL, other than the server''s, by which namespaces were indexed, and how many. Operator '
    'only. Errors: 42501.';
