-- These entities, and all that were merged into them, over any number of merges. Index entities_merged_into.
-- Called by erase_mentions; internal.
create or replace function loci.with_merged(p_namespace_id integer, p_ids uuid[]) returns uuid[]
language sql stable set search_path = ''
as $$
    with recursive found as (
        select u.id from unnest(p_ids) u(id)
        union
        select e.id from found f join loci_data.entities e on e.namespace_id = p_namespace_id and e.merged_into = f.id
    )
    select array_agg(f.id) from found f
$$;
comment on function loci.with_merged(integer, uuid[]) is 'Entities and those that were merged into them. Internal.';
