-- Which entity does a reference mean where what hangs on it has no second time (aspects, mentions)? The one that it
-- means now (find_entity_id); but with p_known_at before infinity, the one that it meant then, if that was removed
-- since.
-- Null: none.
create or replace function loci_internal.entity_at_or_removed(p_namespace_id integer, p_ref text,
                                                              p_known_at timestamptz) returns uuid
language sql stable parallel safe set search_path = ''
as $$
    select coalesce(
        (select e.id from loci_data.entities e
         where p_known_at < 'infinity' and e.namespace_id = p_namespace_id
           and e.id = loci_internal.entity_id_at(p_namespace_id, p_ref, p_known_at)
           and e.merged_into = e.id),
        loci_internal.find_entity_id(p_namespace_id, p_ref))
$$;
comment on function loci_internal.entity_at_or_removed(integer, text, timestamptz) is
    'Id of the entity that a reference means, a removed one at a moment before that; null if there is none.';
