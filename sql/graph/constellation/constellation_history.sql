-- What was each edge between these entities worth, whenever it held? Of each the moments at which something changed
-- (observations, beginnings and ends of spells; the newest 50), with the confidence since then, from when that decays,
-- and when it has faded by that. So whoever has this knows the effective confidence of any moment: confidence ×
-- e^(−decay_rate × days since restored_at), living before fades_at. confidence null: it does not hold; restored_at
-- null: nothing decays (see edge_at); fades_at null: never. Before its first moment it is not born. At most 5,000
-- edges are told, the strongest. Each moment costs a call of edge_at.
create or replace function loci_internal.constellation_history(p_namespace_id integer, p_ids uuid[],
                                                               p_known_at timestamptz) returns json
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_settings  jsonb := loci_internal.settings(p_namespace_id);
    v_threshold double precision := (v_settings ->> 'edge_threshold')::double precision;
begin
    return (
        with near as materialized (
            select i.id, i.source_id, i.target_id, i.type, i.strength, i.valid_from, i.valid_to, i.spells
            from unnest(p_ids) u(id)
            cross join lateral (
                select i.* from loci_data.edges i
                where i.namespace_id = p_namespace_id and i.source_id = u.id and i.target_id is not null
                  and i.recorded_at <= p_known_at and (i.superseded_at is null or i.superseded_at > p_known_at)
                offset 0) i
            join unnest(p_ids) t(id) on t.id = i.target_id
            order by i.strength desc, i.id limit 5000
        )
        select coalesce(json_agg(json_build_object(
                   'id', n.id, 'source_id', n.source_id, 'target_id', n.target_id, 'type', n.type,
                   'strength', n.strength, 'decay_rate', r.rate, 'steps', s.steps) order by n.id), '[]')
        from near n
        left join loci_data.edge_types y on y.namespace_id = p_namespace_id and y.type = n.type
        cross join lateral (select coalesce(y.decay_rate, (v_settings ->> 'decay_rate')::double precision) as rate) r
        cross join lateral (
            select json_agg(json_build_object(
                       'at', m.at, 'confidence', case when e.holds then e.confidence end,
                       'restored_at', case when e.holds then e.restored_at end,
                       'fades_at', case when e.holds and f.fades_at < '10000-01-01 00:00:00+00' then f.fades_at end)
                       order by m.at) as steps
            from loci_internal.edge_moments(p_namespace_id, n.id, n.valid_from, n.valid_to, n.spells, p_known_at) m
            cross join lateral loci_internal.edge_at(p_namespace_id, n.id, n.valid_from, n.valid_to, n.spells, m.at,
                                                     p_known_at) e
            cross join lateral (
                select case when e.restored_at is not null
                            then loci.fades_at(e.confidence, r.rate, e.restored_at, v_threshold)
                            when e.confidence < v_threshold then m.at end) f(fades_at)) s
        where s.steps is not null);
end $$;
comment on function loci_internal.constellation_history(integer, uuid[], timestamptz) is
    'Edges between entities, each with what it was worth since which moment.';

-- At which moments did something change about an edge, as known at another? The newest 50: when it was observed, and
-- when its spells begin and end. Index edge_observations_edge.
create or replace function loci_internal.edge_moments(p_namespace_id integer, p_edge_id uuid, p_valid_from timestamptz,
                                                      p_valid_to timestamptz, p_spells tstzmultirange,
                                                      p_known_at timestamptz)
returns table (at timestamptz)
language sql stable parallel safe
as $$
    select c.at
    from (select o.observed_at as at from loci_data.edge_observations o
          where o.namespace_id = p_namespace_id and o.edge_id = p_edge_id and o.recorded_at <= p_known_at
            and (o.withdrawn is null or not o.withdrawn @> p_known_at)
          union
          select u.at
          from loci_internal.edge_validity_at(p_namespace_id, p_edge_id, p_valid_from, p_valid_to, p_spells,
                                              p_known_at) b
          cross join unnest(loci_internal.spells_of(b.valid_from, b.valid_to, b.spells)) s
          cross join lateral (values (lower(s)), (upper(s))) u(at)) c
    where isfinite(c.at) order by c.at desc limit 50
$$;
comment on function loci_internal.edge_moments(integer, uuid, timestamptz, timestamptz, tstzmultirange, timestamptz) is
    'Moments at which something changed about an edge.';
