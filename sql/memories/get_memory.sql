-- One memory at two times. Neither stated: this version as it is believed now. known_at: this version as it was
-- believed then. as_of: the version of its lineage that was valid then. Index look-ups.
create or replace function loci.get_memory(
    p_namespace text, p_id uuid, p_as_of timestamptz default null, p_known_at timestamptz default null)
returns setof loci.memory_record
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, '{}', p_as_of, p_known_at);
    v_node   uuid := loci_internal.lineage_id_of(v_ns, p_id);
begin
    return query
    select (loci.memory_record(b, v_filter.as_of, p.parent_id)).*
    from (select o.* from loci_data.memories o
          where o.namespace_id = v_ns and o.id = p_id and p_as_of is null
          union all
          (select o.* from loci_data.memories o
           where o.namespace_id = v_ns and o.lineage_id = v_node and p_as_of is not null
             and o.valid_from <= v_filter.begun_by and loci_internal.memory_is_visible(o, v_filter)
           order by o.valid_from desc limit 1)) m
    cross join lateral loci_internal.memory_as_believed(m, p_known_at) b
    left join lateral loci_internal.parent_of(b, v_filter.as_of, p_known_at) p on true
    where b.id is not null;
    if not found then
        raise no_data_found using column = 'id', message = format('memory %s did not exist at %s', p_id,
            concat_ws(', known at ', p_as_of, p_known_at));
    end if;
end $$;
comment on function loci.get_memory(text, uuid, timestamptz, timestamptz) is
    'A memory as believed at known_at; with as_of, the version of its lineage that was valid then. Errors: 42501, '
    'P0002, 22023.';
