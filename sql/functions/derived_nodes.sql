-- Which lineages hold what these hold? Those that a merge made of them (links merged_from), a lesson learned from them (derived_from), what
-- enrichment made of them (expands), also by links that have ended, and so on; and what these were themselves merged from. Index ranges of
-- memory_links. Called by erased_nodes; internal.
create or replace function loci.derived_nodes(p_namespace_id integer, p_nodes uuid[]) returns uuid[]
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with recursive source(id) as (
        select unnest(p_nodes)
        union
        select l.target_id from source s
        join loci_data.memory_links l on l.namespace_id = p_namespace_id and l.source_id = s.id and l.type = 'merged_from'
    ), derived(id) as (
        select s.id from source s
        union
        select l.source_id from derived d
        join loci_data.memory_links l on l.namespace_id = p_namespace_id and l.target_id = d.id and l.type in ('merged_from', 'derived_from', 'expands')
    )
    select array(select d.id from derived d)
$$;
comment on function loci.derived_nodes(integer, uuid[]) is 'Lineages that hold what others hold, by merges, lessons and enrichment. Internal.';
