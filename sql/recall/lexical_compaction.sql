-- Compaction of the lexical index: blocks and ranges are joined.

-- Housekeeping of the lexical index, for the namespace that needs it most: folds its count deltas into one row and
-- joins small posting blocks into blocks of 1,024. Readers see the old rows or the new ones, never both (one
-- transaction); a lock keeps removals of memories away meanwhile. Cheap when nothing is due.
create or replace function loci_api.compact_lexical_index(p_deltas integer default 64)
returns table (folded bigint, joined bigint)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns    integer;
    v_terms bigint[];
begin
    perform loci_internal.require_operator('tidy the index');
    select c.namespace_id into v_ns from loci_data.corpus_counts c
    group by c.namespace_id having count(*) > p_deltas order by count(*) desc, c.namespace_id limit 1;
    folded := 0;
    joined := 0;
    if v_ns is not null and loci_internal.lock_alone(v_ns, 'postings', false) then
        with gone as (
            delete from loci_data.corpus_counts c where c.namespace_id = v_ns returning c.documents, c.terms
        ), kept as (
            insert into loci_data.corpus_counts (namespace_id, documents, terms)
            select v_ns, sum(g.documents), sum(g.terms) from gone g
        )
        select count(*) into folded from gone;
        v_terms := array(select p.term from loci_data.postings p where p.namespace_id = v_ns and p.size < 512
                         group by p.term having count(*) > 8);
        -- an array, not a join: after a large import, without statistics, a join becomes a nested loop of minutes
        with gone as (
            delete from loci_data.postings p
            where p.namespace_id = v_ns and p.term = any (v_terms) and p.size < 512 returning p.term, p.entries
        ), entry as (
            select g.term, e.entry, (row_number() over (partition by g.term order by e.entry) - 1) / 1024 as block
            from gone g cross join lateral unnest(g.entries) e(entry)
        ), kept as (
            insert into loci_data.postings (namespace_id, term, size, entries)
            select v_ns, e.term, count(*), array_agg(e.entry order by e.entry) from entry e group by e.term, e.block
        )
        select count(*) into joined from gone;
    end if;
    return next;
end $$;
comment on function loci_api.compact_lexical_index(integer) is
    'Fold corpus_counts and join small posting blocks of one namespace that has more than p_deltas counts. Operator '
    'only.';

-- Behind the blocks of postings: takes the postings of p_size documents of a namespace of at least p_least out of the
-- blocks and writes them as a range of impacts (lexical_ranges, lexical_impacts), up to eight ranges at once where as
-- many wait; or writes a range anew that is worn (next_lexical_range). Reading and writing take no lock; only to take
-- the blocks away the index is locked, and only if it is free: a change or an erasure waits for that moment at most,
-- an addition never does. If something of it was changed meanwhile nothing happens, and the next look
-- tries again. One transaction: readers, and whoever comes after a kill, see the blocks or the range. One at a time in
-- the database. Cost: about 0.1 ms a document.
create or replace function loci_api.join_lexical_ranges(p_size integer default 8000, p_least integer default 32000)
returns table (joined bigint)
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_due  record;
    v_tail bigint[];
begin
    perform loci_internal.require_operator('tidy the index');
    joined := 0;
    perform from loci_data.service_locks l where l.name = 'ranges' for update skip locked;
    if not found then
        return next;
        return;
    end if;
    select d.* into v_due from loci_internal.next_lexical_range(p_size, p_least) d;
    if found then
        v_tail := loci_internal.documents_in_blocks(v_due.namespace_id, v_due.documents);
        if v_tail = '{}' and v_due.documents > 0 then
            return next;  -- what is counted has no words, and never had a range
            return;
        end if;
        begin
            joined := loci_internal.move_into_ranges(v_due.namespace_id, v_due.range, v_due.size, p_size, v_tail);
        exception when lock_not_available then
            joined := 0;
        end;
    end if;
    return next;
end $$;
comment on function loci_api.join_lexical_ranges(integer, integer) is
    'Join postings of a namespace of at least p_least memories into ranges of p_size documents, or write a worn range '
    'anew; how many documents they have, 0 where nothing was due. Operator only. Errors: 42501.';

-- Write new ranges of documents that are in blocks (p_documents) and of those of an old range, and take them from
-- there; how many documents the new ones have. p_range null: there is no old one; p_old_size: documents in it when it
-- was read. 55P03 where the index is not free, or not what it was when it was read.
create or replace function loci_internal.move_into_ranges(
    p_namespace_id integer, p_range integer, p_old_size integer, p_size integer, p_documents bigint[]) returns bigint
language plpgsql volatile
as $$
declare
    v_last   integer := (select max(r.range) from loci_data.lexical_ranges r where r.namespace_id = p_namespace_id);
    v_terms  bigint[];
    v_blocks bigint[];
    v_taken  bigint;
begin
    -- whole blocks are taken, what is left of them is put back
    select array_agg(p.term), array_agg(p.id), coalesce(sum(p.size), 0) into v_terms, v_blocks, v_taken
    from loci_data.postings p
    where p.namespace_id = p_namespace_id and p.entries[1] >> 23 <= p_documents[cardinality(p_documents)];
    perform loci_internal.write_lexical_ranges(p_namespace_id, p_range, p_size, p_documents, v_terms, v_blocks);
    if not loci_internal.lock_alone(p_namespace_id, 'postings', false) then
        raise lock_not_available;
    end if;
    perform loci_internal.take_postings(p_namespace_id, p_documents, v_terms, v_blocks, v_taken);
    delete from loci_data.lexical_ranges r
    where r.namespace_id = p_namespace_id and r.range = p_range and r.size = p_old_size;
    if p_range is not null and not found then
        raise lock_not_available;
    end if;
    return (select coalesce(sum(r.size), 0) from loci_data.lexical_ranges r
            where r.namespace_id = p_namespace_id and r.range > coalesce(v_last, 0));
end $$;
comment on function loci_internal.move_into_ranges(integer, integer, integer, integer, bigint[]) is
    'Move documents from blocks, and from an old range, into new ranges of the lexical index. Errors: 55P03.';

-- Which range is to be written, of the namespace that needs it most? A new one, or the emptiest where it is less than
-- half full, where p_size documents wait in the blocks. Else one that is worn: half of its documents gone; the mean
-- length 3 % off, or the corpus grown or shrunk by half, so that its impacts are a poor bound of what they are now.
-- documents: how many to take out of the blocks.
create or replace function loci_internal.next_lexical_range(p_size integer, p_least integer)
returns table (namespace_id integer, range integer, size integer, documents integer)
language sql volatile set search_path = ''
as $$
    with corpus as materialized (
        select c.namespace_id, sum(c.documents) as documents,
               0.9 * sum(c.documents) / greatest(sum(c.terms), 1) as slope
        from loci_data.corpus_counts c group by c.namespace_id having sum(c.documents) > 0
    ), range as materialized (
        select r.namespace_id, r.range, r.size, r.places, r.slope, r.corpus from loci_data.lexical_ranges r
    ), tail as (
        select c.namespace_id, c.documents - coalesce((select sum(r.size) from range r
                                                       where r.namespace_id = c.namespace_id), 0) as waiting
        from corpus c where c.documents >= p_least
    ), due as (
        select t.namespace_id, e.range, coalesce(e.size, 0) as size, t.waiting,
               case when e.range is null then least(floor(t.waiting / p_size), 8)::integer * p_size
                    else p_size - e.size end as documents
        from tail t left join lateral (
            select r.range, r.size from range r where r.namespace_id = t.namespace_id and r.size * 2 < p_size
            order by r.size, r.range limit 1) e on true
        where t.waiting >= p_size
        union all
        select r.namespace_id, r.range, r.size, 0, 0
        from range r left join corpus c using (namespace_id)
        where r.size * 2 < r.places or c.slope not between r.slope / 1.03 and r.slope * 1.03
           or c.documents not between r.corpus / 1.5 and r.corpus * 1.5
    )
    select d.namespace_id, d.range, d.size, d.documents from due d
    order by d.waiting desc, d.namespace_id, d.range limit 1
$$;
comment on function loci_internal.next_lexical_range(integer, integer) is
    'The range of the lexical index that is to be written next; range null: a new one.';

-- The first documents of a namespace that no range has. Behind the last range memories are read, so that those without
-- any word are counted too; before it only blocks of changed or late memories.
create or replace function loci_internal.documents_in_blocks(p_namespace_id integer, p_limit integer) returns bigint[]
language plpgsql stable set search_path = ''
as $$
declare
    v_last bigint := coalesce((select max(r.last) from loci_data.lexical_ranges r
                               where r.namespace_id = p_namespace_id), 0);
begin
    return array(
        select d.doc_id
        from (select e >> 23 as doc_id from loci_data.postings p cross join lateral unnest(p.entries) e
              where p.namespace_id = p_namespace_id and p.entries[1] >> 23 <= v_last and e >> 23 <= v_last
              union
              (select m.doc_id from loci_data.memories m where m.namespace_id = p_namespace_id and m.doc_id > v_last
               order by m.doc_id limit p_limit)) d
        order by d.doc_id limit p_limit);
end $$;
comment on function loci_internal.documents_in_blocks(integer, integer) is
    'The first documents whose postings are in blocks and not in a range.';

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
