-- Times: whether a row holds or held at a moment, and whether periods overlap.

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

-- Do both ends of a link hold? One version of each lineage must. Two ranges of memories_chain.
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

-- When does a row hold, in both times? This is the rule for every row, and every reader asks it here. Half-open
-- intervals; an end of null is open. p_spells: the spells of an edge, where they are several. known_at null: what is
-- believed now. Inlines.
create or replace function loci.holds_at(
    p_valid_from timestamptz, p_valid_to timestamptz, p_spells tstzmultirange, p_recorded_at timestamptz,
    p_superseded_at timestamptz, p_as_of timestamptz, p_known_at timestamptz) returns boolean
language sql immutable parallel safe
as $$
    select p_valid_from <= p_as_of and (p_valid_to is null or p_valid_to > p_as_of)
       and (p_spells is null or p_spells @> p_as_of)
       and (p_known_at is null or p_recorded_at <= p_known_at)
       and (p_superseded_at is null or p_superseded_at > p_known_at)
$$;
comment on function loci.holds_at(timestamptz, timestamptz, tstzmultirange, timestamptz, timestamptz, timestamptz,
                                  timestamptz) is
    'Whether a row is valid at as_of, in one of its spells, and believed at known_at (null: now).';

-- The same of a row that has one spell. Inlines.
create or replace function loci.holds_at(
    p_valid_from timestamptz, p_valid_to timestamptz, p_recorded_at timestamptz, p_superseded_at timestamptz,
    p_as_of timestamptz, p_known_at timestamptz) returns boolean
language sql immutable parallel safe
as $$
    select loci.holds_at(p_valid_from, p_valid_to, null, p_recorded_at, p_superseded_at, p_as_of, p_known_at)
$$;
comment on function loci.holds_at(timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz) is
    'Whether a row is valid at as_of and believed at known_at (null: now).';

-- The same of a memory: it is active, too. Inlines; where it changed after known_at, held_at reads what was believed of
-- it then.
create or replace function loci.holds_at(p_memory loci_data.memories, p_as_of timestamptz, p_known_at timestamptz)
returns boolean
language sql stable parallel safe
as $$
    select case when p_known_at is null or p_memory.believed_at <= p_known_at
            then p_memory.status = 'active'
                 and loci.holds_at(p_memory.valid_from, p_memory.valid_to, null, null, p_as_of, null)
            else loci.held_at(p_memory, p_as_of, p_known_at) end
$$;
comment on function loci.holds_at(loci_data.memories, timestamptz, timestamptz) is
    'Whether a memory is active and valid at as_of, as believed at known_at (null: now).';

-- The same of a fact or a constraint under an aspect: it is not deleted; a superseded one held until it was replaced.
-- Inlines, as above.
create or replace function loci.holds_at(p_attribute loci_data.attributes, p_as_of timestamptz, p_known_at timestamptz)
returns boolean
language sql stable parallel safe
as $$
    select case when p_known_at is null or p_attribute.updated_at <= p_known_at
            then p_attribute.status <> 'deleted'
                 and loci.holds_at(p_attribute.valid_from, p_attribute.valid_to, null, null, p_as_of, null)
            else loci.held_at(p_attribute, p_as_of, p_known_at) end
$$;
comment on function loci.holds_at(loci_data.attributes, timestamptz, timestamptz) is
    'Whether an attribute holds at as_of, as believed at known_at (null: now).';

-- The same of an edge: in one of its spells, faded or not. Inlines, as above.
create or replace function loci.holds_at(p_edge loci_data.edges, p_as_of timestamptz, p_known_at timestamptz)
returns boolean
language sql stable parallel safe
as $$
    select case when p_known_at is null or p_edge.updated_at <= p_known_at
            then loci.holds_at(p_edge.valid_from, p_edge.valid_to, p_edge.spells, p_edge.recorded_at,
                               p_edge.superseded_at, p_as_of, p_known_at)
            else loci.held_at(p_edge, p_as_of, p_known_at) end
$$;
comment on function loci.holds_at(loci_data.edges, timestamptz, timestamptz) is
    'Whether an edge holds at as_of, as believed at known_at (null: now).';

-- A link between memories is valid as long as both of its ends are. as_of null: whenever. Inlines, but for the ends.
create or replace function loci.holds_at(p_link loci_data.memory_links, p_as_of timestamptz, p_known_at timestamptz)
returns boolean
language sql stable parallel safe
as $$
    select (p_known_at is null or p_link.recorded_at <= p_known_at)
       and (p_link.superseded_at is null or p_link.superseded_at > p_known_at)
       and (p_as_of is null or loci.held_at(p_link, p_as_of, p_known_at))
$$;
comment on function loci.holds_at(loci_data.memory_links, timestamptz, timestamptz) is
    'Whether a link is believed at known_at (null: now), and both of its ends hold at as_of (null: whenever).';

-- Do two half-open intervals share a moment? An end of null is open. Inlines.
create or replace function loci_internal.periods_overlap(p_from timestamptz, p_to timestamptz,
                                                         p_other_from timestamptz, p_other_to timestamptz)
                                                             returns boolean
language sql immutable parallel safe
as $$
    select (p_to is null or p_to > p_other_from) and (p_other_to is null or p_other_to > p_from)
$$;
comment on function loci_internal.periods_overlap(timestamptz, timestamptz, timestamptz, timestamptz) is
    'Whether two half-open intervals overlap.';
