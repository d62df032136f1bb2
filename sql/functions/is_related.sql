-- Does a memory stand under a node, at the filter's two times, and does it mention an entity? Two primary key look-ups. Called by matches.
create or replace function loci.is_related(p_namespace_id integer, p_id uuid, p_lineage_id uuid, p_filter loci.memory_filter)
returns boolean
language sql stable parallel safe
as $$
    select (p_filter.under is null or p_filter.under = p_lineage_id or exists (
            select from loci_data.memory_closure c
            where c.namespace_id = p_namespace_id and c.ancestor_id = p_filter.under and c.descendant_id = p_lineage_id
              and loci.is_held(c.valid_from, c.valid_to, c.recorded_at, c.superseded_at, p_filter.as_of, p_filter.known_at)))
   and (p_filter.entity_id is null or exists (
            select from loci_data.memory_mentions m
            where m.namespace_id = p_namespace_id and m.memory_id = p_id and m.entity_id = p_filter.entity_id))
$$;
comment on function loci.is_related(integer, uuid, uuid, loci.memory_filter) is 'Whether a memory is in the filter''s subtree and mentions its entity (null: not asked). Internal.';
