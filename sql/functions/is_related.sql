-- Does a memory stand under a node, and does it mention an entity? Two primary key look-ups. Called by matches.
create or replace function loci.is_related(p_namespace_id integer, p_id uuid, p_lineage_id uuid, p_under uuid, p_entity_id uuid)
returns boolean
language sql stable parallel safe
as $$
    select (p_under is null or p_under = p_lineage_id or exists (
            select from loci_data.memory_closure c
            where c.namespace_id = p_namespace_id and c.ancestor_id = p_under and c.descendant_id = p_lineage_id))
   and (p_entity_id is null or exists (
            select from loci_data.memory_mentions m
            where m.namespace_id = p_namespace_id and m.memory_id = p_id and m.entity_id = p_entity_id))
$$;
comment on function loci.is_related(integer, uuid, uuid, uuid, uuid) is 'Whether a memory is in a subtree and mentions an entity (null: not asked). Internal.';
