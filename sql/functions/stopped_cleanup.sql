-- Would a pass remove too much of the graph (row L5)? A sentence that says what and how much; null: no. Counts the namespace's believed edges and its
-- entities. Called by apply_graph_cleanup; internal.
create or replace function loci.stopped_cleanup(p_namespace_id integer, p_edge_count bigint, p_entity_count bigint) returns text
language sql stable set search_path = ''
as $$
    with share as (
        select (loci.settings(p_namespace_id) ->> 'dream_removed_share')::double precision as share
    ), counted as (
        select 'edges' as things, p_edge_count as going,
               (select count(*) from loci_data.edges e where e.namespace_id = p_namespace_id and e.superseded_at is null) as of where p_edge_count > 0
        union all
        select 'entities', p_entity_count,
               (select count(*) from loci_data.entities e where e.namespace_id = p_namespace_id and e.merged_into is null) where p_entity_count > 0
    )
    select string_agg(format('it would have removed %s of %s %s; the setting dream_removed_share (%s) allows %s', c.going, c.of, c.things, s.share, l.most),
                      '; ' order by c.things)
    from counted c cross join share s
    cross join lateral (select loci.removal_limit(p_namespace_id, s.share, c.of) as most) l
    where c.going > l.most
$$;
comment on function loci.stopped_cleanup(integer, bigint, bigint) is 'Why a pass that would remove so many edges and entities is stopped; null: it is not. Internal.';
