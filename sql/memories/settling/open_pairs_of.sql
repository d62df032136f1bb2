-- Were two lineages said to be both true, whichever is the newer? Two probes of memory_links_present.
create or replace function loci_internal.are_both_true(p_namespace_id integer, p_one uuid, p_other uuid) returns boolean
language sql stable parallel safe
as $$
    select exists (select from loci_data.memory_links l
                   where l.namespace_id = p_namespace_id and l.type = 'both_true' and l.superseded_at is null
                     and (l.source_id, l.target_id) in ((p_one, p_other), (p_other, p_one)))
$$;
comment on function loci_internal.are_both_true(integer, uuid, uuid) is
    'Whether it was settled that what two lineages say is both true.';

-- Which pairs are open (links contradicts) of which a memory with one of these document numbers is a part? The number,
-- and the current memory at the other end. A probe of memory_links_open in either direction; none where the namespace
-- has no such link.
create or replace function loci_internal.open_pairs_of(p_namespace_id integer, p_documents bigint[])
returns table (doc_id bigint, other_id uuid, is_newer boolean, similarity double precision)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
#variable_conflict use_column
begin
    if not exists (select from loci_data.memory_links l where l.namespace_id = p_namespace_id
                   and l.type = 'contradicts' and l.superseded_at is null) then
        return;
    end if;
    return query
    select i.doc_id, c.id, e.is_newer, e.strength
    from unnest(p_documents) i(doc_id)
    cross join lateral (select o.id, o.lineage_id from loci_data.memories o where o.namespace_id = p_namespace_id
                        and o.doc_id = i.doc_id limit 1) m
    cross join lateral (
        select l.target_id as other, true as is_newer, l.strength from loci_data.memory_links l
        where l.namespace_id = p_namespace_id and l.source_id = m.lineage_id and l.type = 'contradicts'
          and l.superseded_at is null
        union all
        select l.source_id, false, l.strength from loci_data.memory_links l
        where l.namespace_id = p_namespace_id and l.target_id = m.lineage_id and l.type = 'contradicts'
          and l.superseded_at is null) e
    cross join lateral loci_internal.current_of_lineage(p_namespace_id, e.other) c
    where exists (select from loci_internal.current_of_lineage(p_namespace_id, m.lineage_id) w where w.id = m.id);
end $$;
comment on function loci_internal.open_pairs_of(integer, bigint[]) is
    'Open pairs of memories by document number: the current memory at the other end.';
