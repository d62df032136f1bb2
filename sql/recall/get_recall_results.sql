-- The memories of a recall by document number, as get_recalled_memories has them, and which current memories each may
-- contradict: pairs of which nobody has said yet which holds; null where there are none, and of the past. One look-up
-- each; those of pairs are free where the namespace has none.
create or replace function loci_api.get_recall_results(
    p_namespace text, p_documents bigint[], p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (memory loci.memory_record, contradicts uuid[])
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'reader');
    v_at    timestamptz := coalesce(p_as_of, clock_timestamp());
    v_doubt bigint[] := case when p_as_of is null and p_known_at is null then p_documents else '{}' end;
begin
    return query
    select loci.memory_record(b, v_at, p.parent_id), c.others
    from unnest(p_documents) with ordinality i(doc_id, place)
    cross join lateral (select o.* from loci_data.memories o where o.namespace_id = v_ns
                        and o.doc_id = i.doc_id limit 1) m
    cross join lateral loci_internal.memory_as_believed(m, p_known_at) b
    left join lateral loci_internal.parent_of(b, v_at, p_known_at) p on true
    left join (select d.doc_id, array_agg(distinct d.other_id order by d.other_id) as others
               from loci_internal.open_pairs_of(v_ns, v_doubt) d group by d.doc_id) c on c.doc_id = i.doc_id
    order by i.place;
end $$;
comment on function loci_api.get_recall_results(text, bigint[], timestamptz, timestamptz) is
    'Memories of a recall by document number, in the order asked, and what each may contradict. Errors: 42501, P0002.';
