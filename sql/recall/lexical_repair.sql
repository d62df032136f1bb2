-- Repair of the lexical index, and deletion of postings.

-- Take documents out of the blocks of these terms (null: of all), all at once: each block is read and written once,
-- however many documents leave it, and goes when nothing is left. Blocks are locked in order first, so that two
-- removals take turns and none works on an old block. Cost: the blocks of the terms; 0.3 s for a thousand documents of
-- 20,000.
create or replace function loci_internal.remove_postings(p_namespace_id integer, p_terms bigint[],
                                                         p_documents bigint[]) returns void
-- = any(constant array) is hashed
language plpgsql volatile set search_path = '' set plan_cache_mode = force_custom_plan
as $$
declare
    v_terms bigint[];
    v_ids   bigint[];
begin
    select array_agg(b.term), array_agg(b.id) into v_terms, v_ids
    from (select p.term, p.id from loci_data.postings p
          where p.namespace_id = p_namespace_id and (p_terms is null or p.term = any (p_terms))
            and exists (select from unnest(p.entries) e where e >> 23 = any (p_documents))
          order by p.term, p.id for update) b;
    delete from loci_data.postings p using unnest(v_terms, v_ids) b(term, id)
    where p.namespace_id = p_namespace_id and p.term = b.term and p.id = b.id
      and not exists (select from unnest(p.entries) e where e >> 23 <> all (p_documents));
    update loci_data.postings p
    set (entries, size) = (select array_agg(e order by e), count(*) from unnest(p.entries) e
                           where e >> 23 <> all (p_documents))
    from unnest(v_terms, v_ids) b(term, id)
    where p.namespace_id = p_namespace_id and p.term = b.term and p.id = b.id;
end $$;
comment on function loci_internal.remove_postings(integer, bigint[], bigint[]) is
    'Remove documents from the posting blocks of terms; null: of all terms.';

-- Take documents out of the ranges that hold them: their places become 0, and so do their impacts in the rows of these
-- terms (null: of all). Returns the documents that were found. A range is locked first, so that two removals in it take
-- turns. Cost: the rows of the terms in these ranges are written; 3 ms for a memory, nothing where there are no ranges.
create or replace function loci_internal.remove_impacts(p_namespace_id integer, p_terms bigint[], p_documents bigint[])
returns bigint[]
language plpgsql volatile set search_path from current
as $$
declare
    v_range loci_data.lexical_ranges;
    v_left  bigint[];
    v_mask  vector;
    v_gone  bigint[];
    v_found bigint[] := '{}';
begin
    for v_range in
        select r.* from loci_data.lexical_ranges r
        where r.namespace_id = p_namespace_id
          -- in this order: the places of other ranges are not read
          and case when exists (select from unnest(p_documents) d where d between r.first and r.last)
              then exists (select from unnest(r.documents) d where d >> 15 = any (p_documents)) end
        order by r.range for update
    loop
        select array_agg(case when d.gone then 0 else d.document end order by d.place),
               (array_agg(case when d.gone then 0 else 1 end::real order by d.place)
                || array_fill(1::real, array[8000 - v_range.places]))::vector,
               array_agg(d.document >> 15) filter (where d.gone)
        into v_left, v_mask, v_gone
        from (select u.document, u.place, u.document >> 15 = any (p_documents) as gone
              from unnest(v_range.documents) with ordinality u(document, place)) d;
        with masked as materialized (
            select m.term, m.is_dense, m.impacts, m.size
            from (select i.term, i.sparse is null as is_dense, c.impacts, i.size as before,
                         bit_count(binary_quantize(c.impacts)) as size
                  from loci_data.lexical_impacts i
                  cross join lateral (select coalesce(i.sparse::vector, i.dense::vector) * v_mask offset 0) c(impacts)
                  where i.namespace_id = p_namespace_id and i.range = v_range.range
                    and (p_terms is null or i.term = any (p_terms)) offset 0) m
            where m.size < m.before  -- only what changes is kept, where all terms are looked at
        ), emptied as (
            delete from loci_data.lexical_impacts i using masked m
            where i.namespace_id = p_namespace_id and i.range = v_range.range and i.term = m.term and m.size = 0
        )
        update loci_data.lexical_impacts i
        set size = m.size, sparse = case when not m.is_dense then m.impacts::sparsevec end,
            dense = case when m.is_dense then m.impacts::halfvec end
        from masked m
        where i.namespace_id = p_namespace_id and i.range = v_range.range and i.term = m.term and m.size > 0;
        update loci_data.lexical_ranges r set documents = v_left, size = r.size - cardinality(v_gone)
        where r.namespace_id = p_namespace_id and r.range = v_range.range;
        v_found := v_found || v_gone;
    end loop;
    return v_found;
end $$;
comment on function loci_internal.remove_impacts(integer, bigint[], bigint[]) is
    'Remove documents from the ranges of the lexical index; those that were there.';

-- Trigger: postings go with their namespace, which a foreign key would see to at a higher price: it locks the row of
-- the namespace for each word of a text. A writer of postings holds that row, or one of a memory, to the end, and
-- deleting the namespace waits for both; the name begins with zz, so that it comes behind the cascades.
create or replace function loci_internal.delete_namespace_postings() returns trigger
language plpgsql volatile
as $$
begin
    delete from loci_data.postings where namespace_id = old.id;
    return null;
end $$;
comment on function loci_internal.delete_namespace_postings() is
    'Trigger: delete the postings of a namespace that was deleted.';

-- The lexical index goes with its namespace.
create or replace trigger zz_namespaces_postings after delete on loci_data.namespaces
    for each row execute function loci_internal.delete_namespace_postings();

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
