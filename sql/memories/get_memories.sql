-- These memories, whatever their version or status; in the order asked. One primary key look-up each.
create or replace function loci.get_memories(p_namespace text, p_ids uuid[]) returns setof loci.memory_record
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
    v_at timestamptz := clock_timestamp();
begin
    return query
    select (loci.memory_record(m, v_at, p.parent_id)).*
    from unnest(p_ids) with ordinality i(id, place)
    cross join lateral (select o.* from loci_data.memories o where o.namespace_id = v_ns and o.id = i.id limit 1) m
    left join lateral loci_internal.parent_of(m, v_at, null) p on true
    order by i.place;
end $$;
comment on function loci.get_memories(text, uuid[]) is
    'Memories by id, in the order asked; unknown ids are left out. Errors: 42501, P0002.';
