-- Take a link back: it is believed no longer, and stays askable with known_at. True if there was one. Where another
-- changes its strength at this moment, the row that this waited for has ended and another is the link: it looks again.
create or replace function loci_api.unlink_memories(p_namespace text, p_source uuid, p_target uuid, p_type text)
returns boolean
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'writer');
    v_source uuid := loci_internal.lineage_id_of(v_ns, p_source);
    v_target uuid := loci_internal.lineage_id_of(v_ns, p_target, 'target_id');
begin
    loop
        update loci_data.memory_links l
        set superseded_at = greatest(clock_timestamp(), l.recorded_at + interval '1 microsecond')
        where l.namespace_id = v_ns and l.source_id = v_source and l.target_id = v_target and l.type = p_type
          and l.superseded_at is null;
        if found then
            return true;
        end if;
        perform from loci_data.memory_links l
        where l.namespace_id = v_ns and l.source_id = v_source and l.target_id = v_target and l.type = p_type
          and l.superseded_at is null;
        if not found then
            return false;
        end if;
    end loop;
end $$;
comment on function loci_api.unlink_memories(text, uuid, uuid, text) is
    'End a link between two memories; whether there was one. Errors: 42501, P0002.';
