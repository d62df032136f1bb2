-- Write one memory and show it: what POST /memories replies, in one round trip. Each statement in here sees what the
-- one before wrote. The write checks the caller; what it wrote is read without another check. Errors: those of
-- remember.
create or replace function loci_api.remember_one(p_namespace text, p_item jsonb)
returns table (superseded uuid, duplicate boolean, ignored text[], cut_short jsonb, memory loci.memory_record)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_outcome record;
    v_ns      integer;
    v_at      timestamptz;
begin
    select r.* into v_outcome from loci_api.remember(p_namespace, jsonb_build_array(p_item)) r;
    v_ns := (select n.id from loci_data.namespaces n
             where n.name = coalesce(p_namespace, loci_internal.default_namespace()));
    v_at := clock_timestamp();
    return query
    select v_outcome.superseded, v_outcome.duplicate, v_outcome.ignored, v_outcome.cut_short,
           loci.memory_record(m, v_at, p.parent_id)
    from (select w.* from loci_data.memories w where w.namespace_id = v_ns and w.id = v_outcome.id limit 1) m
    left join lateral loci_internal.parent_of(m, v_at, null) p on true;
end $$;
comment on function loci_api.remember_one(text, jsonb) is
    'Write a memory (see remember) and return it, with what became of the write.';
