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
