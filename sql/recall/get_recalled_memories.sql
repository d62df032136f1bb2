-- Memories by document number, as valid and believed at two times, in the order asked: the last step of a recall. One
-- index look-up each.
create or replace function loci_api.get_recalled_memories(
    p_namespace text, p_documents bigint[], p_as_of timestamptz default null, p_known_at timestamptz default null)
returns setof loci.memory_record
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
    v_at timestamptz := coalesce(p_as_of, clock_timestamp());
begin
    return query
    select (loci.memory_record(b, v_at, p.parent_id)).*
    from unnest(p_documents) with ordinality i(doc_id, place)
    cross join lateral (select o.* from loci_data.memories o where o.namespace_id = v_ns
                        and o.doc_id = i.doc_id limit 1) m
    cross join lateral loci_internal.memory_as_believed(m, p_known_at) b
    left join lateral loci_internal.parent_of(b, v_at, p_known_at) p on true
    order by i.place;
end $$;
comment on function loci_api.get_recalled_memories(text, bigint[], timestamptz, timestamptz) is
    'Memories by document number, in the order asked. Errors: 42501, P0002.';
