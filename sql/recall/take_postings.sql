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
