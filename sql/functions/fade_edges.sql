-- Bring edges.fades_at in step with the decay rates and the threshold in force, for one type or for all (row G10). Says how many
-- edges faded by that and how many came back. Cost: reads the edges (edges_type), writes those that change.
-- Called by set_edge_type and decay_edges; internal.
create or replace function loci.fade_edges(p_namespace_id integer, p_type text, p_at timestamptz)
returns table (faded bigint, revived bigint)
language sql volatile
as $$
    with setting as materialized (
        select (s.s ->> 'decay_rate')::double precision as rate, (s.s ->> 'edge_threshold')::double precision as threshold
        from (select loci.settings(p_namespace_id)) s(s)
    ), changed as (
        select e.id, e.fades_at as was, f.fades_at
        from loci_data.edges e
        cross join setting s
        left join loci_data.edge_types t on t.namespace_id = p_namespace_id and t.type = e.type
        cross join lateral (
            select loci.fades_at(e.confidence, coalesce(t.decay_rate, s.rate), e.last_observed_at, s.threshold) as fades_at) f
        where e.namespace_id = p_namespace_id and e.superseded_at is null and (p_type is null or e.type = p_type)
          and e.fades_at <> f.fades_at
        order by e.id
        for no key update of e
    ), updated as (
        update loci_data.edges e set fades_at = c.fades_at, updated_at = greatest(e.updated_at, p_at)
        from changed c where e.namespace_id = p_namespace_id and e.id = c.id
        returning c.was, c.fades_at
    )
    select count(*) filter (where u.was > p_at and u.fades_at <= p_at), count(*) filter (where u.was <= p_at and u.fades_at > p_at)
    from updated u
$$;
comment on function loci.fade_edges(integer, text, timestamptz) is 'Recalculate fades_at of edges of a type (null: of all); how many faded and how many came back. Internal.';
