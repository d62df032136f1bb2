-- Which types of edges does a namespace use? In order of the alphabet, at most p_limit: one probe of index edges_type
-- for each type, however many edges there are. Security definer: past the policies; checks the caller itself. Errors:
-- 42501, P0002.
create or replace function loci_api.edge_types_used(p_namespace text, p_limit integer default 100) returns text[]
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return array(
        with recursive used(type) as (
            (select e.type from loci_data.edges e where e.namespace_id = v_ns order by e.type limit 1)
            union all
            select n.type from used u
            cross join lateral (select e.type from loci_data.edges e
                                where e.namespace_id = v_ns and e.type > u.type order by e.type limit 1) n
        )
        select u.type from used u limit p_limit);
end $$;
comment on function loci_api.edge_types_used(text, integer) is
    'Types of edges that a namespace uses. Errors: 42501, P0002.';
