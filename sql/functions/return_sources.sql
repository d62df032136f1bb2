-- Memories that were forgotten for a merge are active again, but for those in whose place something stands by now. Called by erase_memories; internal.
create or replace function loci.return_sources(p_namespace_id integer, p_ids uuid[]) returns void
language sql volatile set search_path = '' set enable_seqscan = off
as $$
    update loci_data.memories m set status = 'active', updated_at = clock_timestamp()
    where m.namespace_id = p_namespace_id and m.id = any (p_ids) and m.status = 'forgotten'
      and not exists (select from loci_data.memories o where o.namespace_id = m.namespace_id and o.status = 'active' and o.valid_to is null
                      and (o.lineage = m.lineage or o.content_hash = m.content_hash and o.fold_scope = m.fold_scope))
$$;
comment on function loci.return_sources(integer, uuid[]) is 'Make memories active again that were forgotten for a merge. Internal.';
