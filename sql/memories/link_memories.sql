-- Link two memories, or change the strength of a link: the old strength stays askable with known_at. Ends are lineages,
-- whatever version was named. The row of the present link is the lock between two writers.
create or replace function loci_api.link_memories(
    p_namespace text, p_source uuid, p_target uuid, p_type text, p_strength double precision default 0.5)
returns table (source_id uuid, target_id uuid, type text, strength double precision, recorded_at timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'writer');
    v_source uuid;
    v_target uuid;
    v_last   timestamptz;
begin
    perform from loci_data.memories m where m.namespace_id = v_ns and m.id in (p_source, p_target) order by m.id
        for key share;
    -- only now: what was being erased is gone, what is there stays
    v_source := loci_internal.lineage_id_of(v_ns, p_source);
    v_target := loci_internal.lineage_id_of(v_ns, p_target, 'target_id');
    loop
        select l.recorded_at into v_last from loci_data.memory_links l
        where l.namespace_id = v_ns and l.source_id = v_source and l.target_id = v_target and l.type = p_type
          and l.superseded_at is null
        for update;
        if found then
            return query select l.source_id, l.target_id, l.type, l.strength, l.recorded_at
                from loci_data.memory_links l
            where l.namespace_id = v_ns and l.source_id = v_source and l.target_id = v_target and l.type = p_type
              and l.recorded_at = v_last and l.strength = p_strength;
            exit when found;
            perform loci_api.unlink_memories(p_namespace, p_source, p_target, p_type);
        end if;
        return query
        insert into loci_data.memory_links as l (namespace_id, source_id, target_id, type, strength, recorded_at)
        values (v_ns, v_source, v_target, p_type, p_strength, greatest(clock_timestamp(), (
            select max(o.superseded_at) from loci_data.memory_links o
            where o.namespace_id = v_ns and o.source_id = v_source and o.target_id = v_target and o.type = p_type)))
        on conflict do nothing
        returning l.source_id, l.target_id, l.type, l.strength, l.recorded_at;
        exit when found;
    end loop;
end $$;
comment on function loci_api.link_memories(text, uuid, uuid, text, double precision) is
    'Upsert a typed, weighted link between two memories. Errors: 42501, P0002, 23514.';
