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
