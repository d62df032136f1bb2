-- Did a memory hold at as_of, as believed at a past moment, after which it changed? One range of memory_beliefs. Part
-- of holds_at, which inlines and asks this only where it must.
create or replace function loci.held_at(p_memory loci_data.memories, p_as_of timestamptz, p_known_at timestamptz)
returns boolean
language plpgsql stable parallel safe set search_path = ''
as $$
begin
    return exists (
        select from loci_data.memory_beliefs b
        where b.namespace_id = p_memory.namespace_id and b.memory_id = p_memory.id and b.status = 'active'
          and loci.holds_at(b.valid_from, b.valid_to, b.believed_at, b.believed_to, p_as_of, p_known_at));
end $$;
comment on function loci.held_at(loci_data.memories, timestamptz, timestamptz) is
    'Whether a memory held at as_of, as believed at a moment before its last change.';

-- The same of an attribute. A row that changed without another belief (a counter) is believed as it stands.
create or replace function loci.held_at(p_attribute loci_data.attributes, p_as_of timestamptz, p_known_at timestamptz)
returns boolean
language plpgsql stable parallel safe set search_path = ''
as $$
declare
    v_belief loci_data.attribute_beliefs;
begin
    select b.* into v_belief from loci_data.attribute_beliefs b
    where b.namespace_id = p_attribute.namespace_id and b.attribute_id = p_attribute.id
      and b.believed_to > p_known_at
    order by b.believed_to limit 1;
    return p_attribute.recorded_at <= p_known_at and case when found
        then v_belief.status <> 'deleted' and loci.holds_at(v_belief.valid_from, v_belief.valid_to, null, null, p_as_of,
                                                            null)
        else loci.holds_at(p_attribute, p_as_of, null) end;
end $$;
comment on function loci.held_at(loci_data.attributes, timestamptz, timestamptz) is
    'Whether an attribute held at as_of, as believed at a moment before its last change.';

-- The same of an edge.
create or replace function loci.held_at(p_edge loci_data.edges, p_as_of timestamptz, p_known_at timestamptz)
returns boolean
language plpgsql stable parallel safe set search_path = ''
as $$
declare
    v_belief loci_data.edge_beliefs;
begin
    select b.* into v_belief from loci_data.edge_beliefs b
    where b.namespace_id = p_edge.namespace_id and b.edge_id = p_edge.id and b.believed_to > p_known_at
    order by b.believed_to limit 1;
    return case when found
        then loci.holds_at(v_belief.valid_from, v_belief.valid_to, v_belief.spells, p_edge.recorded_at,
                           p_edge.superseded_at, p_as_of, p_known_at)
        else loci.holds_at(p_edge.valid_from, p_edge.valid_to, p_edge.spells, p_edge.recorded_at, p_edge.superseded_at,
                           p_as_of, p_known_at) end;
end $$;
comment on function loci.held_at(loci_data.edges, timestamptz, timestamptz) is
    'Whether an edge held at as_of, as believed at a moment before its last change.';

-- Do both ends of a link hold? Of each lineage one version must. Two ranges of memories_chain.
create or replace function loci.held_at(p_link loci_data.memory_links, p_as_of timestamptz, p_known_at timestamptz)
returns boolean
language plpgsql stable parallel safe set search_path = ''
as $$
begin
    return exists (select from loci_data.memories m where m.namespace_id = p_link.namespace_id
                   and m.lineage_id = p_link.source_id and loci.holds_at(m, p_as_of, p_known_at))
       and exists (select from loci_data.memories m where m.namespace_id = p_link.namespace_id
                   and m.lineage_id = p_link.target_id and loci.holds_at(m, p_as_of, p_known_at));
end $$;
comment on function loci.held_at(loci_data.memory_links, timestamptz, timestamptz) is
    'Whether both ends of a link hold at as_of, as believed at known_at (null: now).';
