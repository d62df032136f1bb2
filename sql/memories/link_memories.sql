-- Link two memories, or change the strength of a link: what it was stays as a row that ends where the new one begins,
-- so that as_of and known_at tell of it (link_at). A link that was taken back begins anew, after a break. Ends are
-- lineages, whatever version was named. The row of the present link is the lock between two writers.
create or replace function loci_api.link_memories(
    p_namespace text, p_source uuid, p_target uuid, p_type text, p_strength double precision default 0.5)
returns table (source_id uuid, target_id uuid, type text, strength double precision, recorded_at timestamptz,
               superseded_at timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'writer');
    v_source uuid;
    v_target uuid;
    v_last   loci_data.memory_links;
    v_at     timestamptz;
begin
    perform from loci_data.memories m where m.namespace_id = v_ns and m.id in (p_source, p_target) order by m.id
        for key share;
    -- only now: what was being erased is gone, what is there stays
    v_source := loci_internal.lineage_id_of(v_ns, p_source);
    v_target := loci_internal.lineage_id_of(v_ns, p_target, 'target_id');
    loop
        select l.* into v_last from loci_data.memory_links l
        where l.namespace_id = v_ns and l.source_id = v_source and l.target_id = v_target and l.type = p_type
          and l.superseded_at is null
        for update;
        v_at := greatest(clock_timestamp(), v_last.recorded_at + interval '1 microsecond');
        if found and v_last.strength = p_strength then
            return query select v_source, v_target, p_type, p_strength, v_last.recorded_at, v_last.superseded_at;
            exit;
        elsif found then
            update loci_data.memory_links l set superseded_at = v_at
            where l.namespace_id = v_ns and l.source_id = v_source and l.target_id = v_target and l.type = p_type
              and l.superseded_at is null;
        else
            v_at := greatest(v_at, (
                select max(o.superseded_at) + interval '1 microsecond' from loci_data.memory_links o
                where o.namespace_id = v_ns and o.source_id = v_source and o.target_id = v_target
                  and o.type = p_type));
        end if;
        return query
        insert into loci_data.memory_links as l (namespace_id, source_id, target_id, type, strength, recorded_at)
        values (v_ns, v_source, v_target, p_type, p_strength, v_at)
        on conflict do nothing
        returning l.source_id, l.target_id, l.type, l.strength, l.recorded_at, l.superseded_at;
        exit when found;
    end loop;
end $$;
comment on function loci_api.link_memories(text, uuid, uuid, text, double precision) is
    'Upsert a typed, weighted link between two memories. Errors: 42501, P0002, 23514.';
