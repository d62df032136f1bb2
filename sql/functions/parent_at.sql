-- Which memory did a node stand under, at a moment, as believed at a moment (null: now)? The version of the parent that was visible
-- then, else the parent's first that is left. Internal. Index look-ups: one for a node without parent.
create or replace function loci.parent_at(p_namespace_id integer, p_node uuid, p_as_of timestamptz, p_known_at timestamptz default null)
returns uuid
language plpgsql stable parallel safe set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_parent  uuid;
    v_version uuid;
    v_filter  loci.memory_filter;
begin
    select p.parent_id into v_parent from loci_data.memory_placements p
    where p.namespace_id = p_namespace_id and p.node_id = p_node
      and loci.is_held(p.valid_from, p.valid_to, p.recorded_at, p.superseded_at, p_as_of, p_known_at);
    if v_parent is not null then
        v_filter.as_of := p_as_of;
        v_filter.known_at := p_known_at;
        select m.id into v_version from loci_data.memories m
        where m.namespace_id = p_namespace_id and m.lineage_id = v_parent
          and (p_known_at is not null or m.valid_from <= p_as_of) and loci.passes(m, v_filter)
        order by m.valid_from desc limit 1;
    end if;
    return coalesce(v_version, loci.first_version(p_namespace_id, v_parent));
end $$;
comment on function loci.parent_at(integer, uuid, timestamptz, timestamptz) is 'The memory that a lineage (by the id of its first version) stood under at a moment; null: none. Internal.';
