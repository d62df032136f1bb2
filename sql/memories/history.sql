-- Every version of a lineage, oldest first. p_ref is the lineage, or the id of any of its versions. known_at: the
-- versions recorded by then, as they were believed then. as_of: those that had begun by then; current is told at that
-- moment. Pages by version over the unique index on (lineage, version).
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
begin
    if p_ref ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
        v_lineage := coalesce((select m.lineage from loci_data.memories m where m.namespace_id = v_ns
                               and m.id = p_ref::uuid), p_ref);
    end if;
    if not exists (select from loci_data.memories m where m.namespace_id = v_ns and m.lineage = v_lineage
                   and (p_known_at is null or m.recorded_at <= p_known_at)) then
        raise no_data_found using message = format('no memory and no lineage %L in namespace %L', p_ref, p_namespace),
            column = 'id';
    end if;
    return query
    select (loci.memory_record(b, v_at, p.parent_id)).*
    from (select m.* from loci_data.memories m
          where m.namespace_id = v_ns and m.lineage = v_lineage and m.version > p_after
            and (p_known_at is null or m.recorded_at <= p_known_at)
            and (p_as_of is null or (loci_internal.memory_as_believed(m, p_known_at)).valid_from <= p_as_of)
          order by m.version limit p_limit) page
    cross join lateral loci_internal.memory_as_believed(page, p_known_at) b
    left join lateral loci_internal.parent_of(b, v_at, p_known_at) p on true
    order by b.version;
end $$;
comment on function loci.history(text, text, integer, integer, timestamptz, timestamptz) is
    'All versions of a lineage (by name, or by the id of a version), oldest first, at two times. Errors: 42501, '
    'P0002, 22023.';
