-- Of what time do memories speak that show an edge, as believed at a moment (infinity: now)? Each until it ends; one
-- that goes on after an interlude, of the same lineage as the first, from where it begins. Null: of all times, since
-- none ends. Those that are forgotten, or were corrected, speak of none. A look-up a memory.
create or replace function loci_internal.evidence_span(p_namespace_id integer, p_memory_id uuid, p_carried_by uuid[],
                                                       p_known_at timestamptz) returns tstzmultirange
language plpgsql stable parallel safe
as $$
declare
    v_known_at timestamptz := nullif(p_known_at, 'infinity');
    v_first    loci_data.memories;
    v_span     tstzmultirange := '{}';
    v_one      loci_data.memories;
begin
    select m.* into v_first from loci_data.memories m where m.namespace_id = p_namespace_id and m.id = p_memory_id;
    if v_first.status = 'active' and v_first.valid_to is null and v_known_at is null then
        return null;
    end if;
    for v_one in
        select b.* from unnest(p_memory_id || p_carried_by) u(id)
        cross join lateral (select x.* from loci_data.memories x where x.namespace_id = p_namespace_id
                            and x.id = u.id limit 1) m
        cross join lateral loci_internal.memory_as_believed(m, v_known_at) b
        where b.status = 'active' and b.valid_to is distinct from b.valid_from
    loop
        v_span := v_span + tstzmultirange(tstzrange(
            case when v_one.lineage_id = v_first.lineage_id and v_one.id <> p_memory_id then v_one.valid_from end,
            v_one.valid_to));
    end loop;
    return nullif(v_span, '{(,)}');
end $$;
comment on function loci_internal.evidence_span(integer, uuid, uuid[], timestamptz) is
    'The times of which memories speak that show an edge; null: all.';
