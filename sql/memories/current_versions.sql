-- What does each of these lineages say? Of each the version that is visible at as_of, as believed at known_at (null:
-- now), in the order asked; lineages without one are left out. Walks each lineage backwards over the unique index on
-- (lineage, version), so it finds the current one at once. Security definer: reads past the policies; checks the caller
-- itself. Errors: 42501, P0002, 22023.
create or replace function loci.current_versions(
    p_namespace text, p_lineages text[], p_as_of timestamptz default null, p_known_at timestamptz default null)
returns setof loci.memory_record
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, '{}', p_as_of, p_known_at);
begin
    return query
    select (loci.memory_record(b, v_filter.as_of, p.parent_id)).*
    from (select l.lineage, min(l.place) as place from unnest(p_lineages) with ordinality l(lineage, place)
          group by l.lineage) asked
    cross join lateral (select o.* from loci_data.memories o
                        where o.namespace_id = v_ns and o.lineage = asked.lineage
                          and loci_internal.memory_is_visible(o, v_filter)
                        order by o.version desc limit 1) m
    cross join lateral loci_internal.memory_as_believed(m, p_known_at) b
    left join lateral loci_internal.parent_of(b, v_filter.as_of, p_known_at) p on true
    order by asked.place;
end $$;
comment on function loci.current_versions(text, text[], timestamptz, timestamptz) is
    'The visible version of each of these lineages at two times, in the order asked; those without one are left out. '
    'Errors: 42501, P0002, 22023.';
