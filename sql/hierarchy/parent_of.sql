-- Which memory does a memory stand under, at a moment (or the nearest to it that it was valid at), as believed at a
-- moment (null: now)? The version of the parent that was visible then, else the parent's first that is left. One row or
-- none; inlines into the caller's plan: one index look-up for a node without parent, two more for the others.
create or replace function loci_internal.parent_of(p_memory loci_data.memories, p_at timestamptz,
                                                   p_known_at timestamptz default null)
returns table (parent_id uuid)
language sql stable parallel safe
as $$
    select coalesce(
        (select m.id from loci_data.memories m
         where m.namespace_id = p.namespace_id and m.lineage_id = p.parent_id
           and m.valid_from <= case when p_known_at is null then t.moment else 'infinity' end
           and loci_internal.memory_is_visible(m, loci_internal.filter_at(t.moment, p_known_at))
         order by m.valid_from desc limit 1),
        (select m.id from loci_data.memories m
         where m.namespace_id = p.namespace_id and m.lineage_id = p.parent_id
         order by m.id <> p.parent_id, m.version limit 1))
    from (select greatest(p_memory.valid_from, least(p_at, p_memory.valid_to - interval '1 microsecond')) as moment) t
    join loci_data.memory_placements p on p.namespace_id = p_memory.namespace_id and p.node_id = p_memory.lineage_id
         and loci.holds_at(p.valid_from, p.valid_to, p.recorded_at, p.superseded_at, t.moment, p_known_at)
    limit 1
$$;
comment on function loci_internal.parent_of(loci_data.memories, timestamptz, timestamptz) is
    'The memory that a memory stands under at a moment; no row: none.';

-- The node of the hierarchy that a memory is: the id of its lineage's first version. One primary key look-up.
create or replace function loci_internal.lineage_id_of(p_namespace_id integer, p_memory_id uuid,
                                                       p_field text default 'id') returns uuid
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_node uuid;
begin
    select m.lineage_id into v_node from loci_data.memories m where m.namespace_id = p_namespace_id
        and m.id = p_memory_id;
    if v_node is null then
        raise no_data_found using message = format('memory %s does not exist', p_memory_id), column = p_field;
    end if;
    return v_node;
end $$;
comment on function loci_internal.lineage_id_of(integer, uuid, text) is
    'lineage_id of a memory. Errors: P0002 (names p_field).';
