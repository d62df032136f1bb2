-- Every version of a lineage, oldest first: by valid time, then by version. p_ref is the lineage, or the id of any of
-- its versions. known_at: the versions recorded by then, as they were believed then. as_of: those that had begun by
-- then; current is told at that moment. p_after: the version that the page before ended with. As believed now, a page
-- is a range of index memories_chain; as known then, the lineage is read once a page, because when its versions were
-- valid may have been believed otherwise. Errors: 42501, P0002, 22023 (there is no such version).
create or replace function loci.history(
    p_namespace text, p_ref text, p_limit integer default 1000, p_after integer default 0,
    p_as_of timestamptz default null, p_known_at timestamptz default null)
returns setof loci.memory_record
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns      integer := loci_internal.authorize(p_namespace, 'reader');
    v_at      timestamptz := (loci_internal.resolve_filter(v_ns, '{}', p_as_of, p_known_at)).as_of;
    v_lineage text := p_ref;
    v_after   timestamptz;  -- since when the version p_after is valid
    v_page    loci_data.memories[];
begin
    if p_ref ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
        v_lineage := coalesce((select m.lineage from loci_data.memories m where m.namespace_id = v_ns
                               and m.id = p_ref::uuid), p_ref);
    end if;
    if not exists (select from loci_data.memories m where m.namespace_id = v_ns and m.lineage = v_lineage
                   and (p_known_at is null or m.recorded_at <= p_known_at)) then
        raise no_data_found using column = 'id',
            message = format('no memory and no lineage %L in namespace %L', p_ref,
                             (select n.name from loci_data.namespaces n where n.id = v_ns));
    end if;
    if p_after > 0 then
        select b.valid_from into v_after from loci_data.memories m
        cross join lateral loci_internal.memory_as_believed(m, p_known_at) b
        where m.namespace_id = v_ns and m.lineage = v_lineage and m.version = p_after;
        if not found then
            perform loci_internal.read_cursor('no version', 'integer');
        end if;
    end if;
    if p_known_at is null then
        v_page := array(
            select m from loci_data.memories m
            where m.namespace_id = v_ns
              and m.lineage_id = (select l.lineage_id from loci_data.memories l
                                  where l.namespace_id = v_ns and l.lineage = v_lineage limit 1)
              and m.valid_from >= coalesce(v_after, '-infinity') and m.valid_from <= coalesce(p_as_of, 'infinity')
              and (v_after is null or (m.valid_from, m.version) > (v_after, p_after))
            order by m.valid_from, m.version limit p_limit);
    else
        v_page := array(
            select b from loci_data.memories m
            cross join lateral loci_internal.memory_as_believed(m, p_known_at) b
            where m.namespace_id = v_ns and m.lineage = v_lineage and m.recorded_at <= p_known_at
              and (p_as_of is null or b.valid_from <= p_as_of)
              and (v_after is null or (b.valid_from, b.version) > (v_after, p_after))
            order by b.valid_from, b.version limit p_limit);
    end if;
    return query
    select (loci.memory_record(b, v_at, p.parent_id)).*
    from unnest(v_page) b
    left join lateral loci_internal.parent_of(b, v_at, p_known_at) p on true
    order by b.valid_from, b.version;
end $$;
comment on function loci.history(text, text, integer, integer, timestamptz, timestamptz) is
    'All versions of a lineage (by name, or by the id of a version), oldest first by valid time, '
    'at two times. Errors: 42501, P0002, 22023.';
