-- Constellation: the entities that stand out, and their edges, now and earlier.

-- Choose the entities of a constellation: pinned ones, then the most mentioned, then those that no memory mentions and
-- that have aspects or edges, in order of id. Index ranges, each at most p_limit long.
create or replace function loci_internal.constellation_entity_ids(p_namespace_id integer, p_limit integer,
                                                                  p_as_of timestamptz, p_known_at timestamptz)
returns uuid[]
language plpgsql stable set search_path = ''
as $$
declare
    v_hidden uuid[] := loci_internal.hidden_entities(p_namespace_id, p_known_at);
    v_ids    uuid[];
begin
    v_ids := array(
        select e.id
        from ((select p.id, p.pinned_at, p.mentions from loci_data.entities p
               where p.namespace_id = p_namespace_id and p.pinned_at is not null
                 and (p.merged_into is null or p.merged_at > p_known_at) and p.created_at <= p_known_at
                 and p.first_seen_at <= p_as_of
               order by p.pinned_at desc, p.mentions desc, p.id limit p_limit)
              union all
              (select o.id, null, o.mentions from loci_data.entities o
               where o.namespace_id = p_namespace_id and o.pinned_at is null
                 and (o.merged_into is null or o.merged_at > p_known_at) and o.created_at <= p_known_at
                 and o.first_seen_at <= p_as_of and o.id <> all (v_hidden) and o.mentions > 0
               order by o.mentions desc, o.id limit p_limit)) e
        order by e.pinned_at desc nulls last, e.mentions desc, e.id limit p_limit);
    if cardinality(v_ids) < p_limit then  -- then those that no memory mentions, in order of id, until there are enough
        v_ids := v_ids || array(
            select o.id from loci_data.entities o
            where o.namespace_id = p_namespace_id and o.pinned_at is null and o.mentions = 0
              and (o.merged_into is null or o.merged_at > p_known_at) and o.created_at <= p_known_at
              and o.first_seen_at <= p_as_of and o.id <> all (v_hidden)
              and (exists (select from loci_data.aspects a where a.namespace_id = p_namespace_id and a.entity_id = o.id)
                   or exists (select from loci_data.edges i where i.namespace_id = p_namespace_id and i.source_id = o.id
                              and loci_internal.edge_had_begun(i, p_as_of, p_known_at))
                   or exists (select from loci_data.edges i where i.namespace_id = p_namespace_id and i.target_id = o.id
                              and loci_internal.edge_had_begun(i, p_as_of, p_known_at)))
            order by o.id limit p_limit - cardinality(v_ids));
    end if;
    return v_ids;
end $$;
comment on function loci_internal.constellation_entity_ids(integer, integer, timestamptz, timestamptz) is
    'Entities of a constellation, those that stand out first.';

-- Describe the entities of a constellation, in the order of p_ids, each with its place and its aspects.
create or replace function loci_internal.constellation_entities(p_namespace_id integer, p_ids uuid[],
                                                                p_as_of timestamptz, p_known_at timestamptz)
returns json
language sql stable set search_path = ''
as $$
    select coalesce(json_agg(json_build_object(
               'id', e.id, 'name', e.name, 'type', e.type, 'mentions', e.mentions, 'pinned', e.pinned,
               'pinned_at', e.pinned_at, 'first_seen_at', e.first_seen_at, 'x', w.x, 'y', w.y,
               'aspects', coalesce(s.aspects, '[]')) order by u.place), '[]')
    from unnest(p_ids) with ordinality u(id, place)
    cross join lateral (select o.id, o.name, o.type, o.mentions, o.pinned, o.pinned_at,
                               o.first_seen_at from loci_data.entities o
                        where o.namespace_id = p_namespace_id and o.id = u.id limit 1) e
    left join lateral (select p.x, p.y from loci_data.entity_places p
                       where p.namespace_id = p_namespace_id and p.entity_id = u.id limit 1) w on true
    left join lateral loci_internal.constellation_aspects(p_namespace_id, u.id, p_as_of, p_known_at) s on true
$$;
comment on function loci_internal.constellation_entities(integer, uuid[], timestamptz, timestamptz) is
    'Entities of a constellation with their places and aspects.';

-- The graph as a picture: the entities that stand out, pinned ones first, then the most mentioned; of these the aspects
-- with what holds under them, and all living edges between them. At most p_limit entities (setting
-- constellation_entities): mentioned, pinned, with an aspect or an edge. As of p_as_of, as known at p_known_at (null:
-- now, as believed now); who stands out goes by present figures. x and y: where an entity stands in the picture, null
-- until it was placed. more: there are further ones. history, if asked for: see constellation_history. Cost: reads the
-- entities of the namespace once, then what belongs to those chosen. Security definer: past the policies; checks the
-- caller itself. Errors: 42501, P0002, 22023.
create or replace function loci.constellation(
    p_namespace text, p_limit integer default null, p_as_of timestamptz default null,
    p_known_at timestamptz default null, p_history boolean default false)
returns table (entities json, edges json, more boolean, history json)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'reader');
    v_limit    integer := coalesce(p_limit, (loci_internal.settings(v_ns) ->> 'constellation_entities')::integer);
    v_as_of    timestamptz := (loci_internal.resolve_filter(v_ns, '{}', p_as_of, p_known_at)).as_of;
    v_known_at timestamptz := coalesce(p_known_at, 'infinity');
    v_ids      uuid[];
begin
    perform loci_internal.check_limit(v_limit, 10000);
    v_ids := loci_internal.constellation_entity_ids(v_ns, v_limit + 1, v_as_of, v_known_at);
    more := cardinality(v_ids) > v_limit;
    v_ids := v_ids[:v_limit];

    entities := loci_internal.constellation_entities(v_ns, v_ids, v_as_of, v_known_at);

    with near as materialized (
        select i.id, i.target_id from unnest(v_ids) u(id)
        cross join lateral (
            select i.id, i.target_id from loci_data.edges i
            where i.namespace_id = v_ns and i.source_id = u.id and i.target_id is not null
              and (i.updated_at > v_known_at
                   or loci_internal.holds_in(i.valid_from, i.valid_to, i.spells, v_as_of))
              and i.recorded_at <= v_known_at and (i.superseded_at is null or i.superseded_at > v_known_at) offset 0) i
    ), between as (
        select array_agg(n.id) as ids from near n join unnest(v_ids) u(id) on u.id = n.target_id
    )
    select coalesce(json_agg(json_build_object(
               'id', r.id, 'source_id', r.source_id, 'target_id', r.target_id, 'type', r.type, 'strength', r.strength,
               'confidence', r.confidence) order by r.id), '[]') into edges
    from between b cross join lateral loci_internal.edge_rows(v_ns, b.ids, v_as_of, v_known_at) r
    where not r.faded and loci.holds_at(r.valid_from, r.valid_to, null, null, v_as_of, null);
    if p_history then
        history := loci_internal.constellation_history(v_ns, v_ids, v_known_at);
    end if;
    return next;
end $$;
comment on function loci.constellation(text, integer, timestamptz, timestamptz, boolean) is
    'The entities that stand out, their aspects with attributes, and the living edges between them; their history, if '
    'asked for. Errors: 42501, P0002, 22023.';

-- Had an edge begun at a moment, as known at another? Whether it still holds, or has faded, is no matter; one that
-- holds at no moment never began. Inlines.
create or replace function loci_internal.edge_had_begun(p_edge loci_data.edges, p_as_of timestamptz,
                                                        p_known_at timestamptz) returns boolean
language sql immutable parallel safe
return p_edge.recorded_at <= p_known_at and (p_edge.superseded_at is null or p_edge.superseded_at > p_known_at)
    and p_edge.valid_from <= p_as_of
    and (p_edge.valid_to is null or p_edge.valid_to > p_edge.valid_from or p_edge.updated_at > p_known_at);
comment on function loci_internal.edge_had_begun(loci_data.edges, timestamptz, timestamptz) is
    'Whether an edge had begun at a moment, and was believed at another.';

-- Aspects of an entity, heaviest first, with what held under them at a moment, as known at another, most important
-- first. Inlines. Indexes aspects_weight, attributes_history.
create or replace function loci_internal.constellation_aspects(p_namespace_id integer, p_entity_id uuid,
                                                               p_as_of timestamptz, p_known_at timestamptz)
returns table (aspects json)
language sql stable parallel safe
as $$
    select json_agg(json_build_object('id', s.id, 'name', s.name, 'weight', s.weight, 'attributes',
                                      coalesce(t.attributes, '[]'))
                     order by s.weight desc, s.id)
    from loci_data.aspects s
    cross join lateral (
        select json_agg(json_build_object('id', a.id, 'kind', a.kind, 'content', a.content, 'importance', h.importance,
                                          'memory_id', a.memory_id)
                         order by h.importance desc, a.id) as attributes
        from loci_data.attributes a cross join lateral loci_internal.attribute_at(a, p_as_of, p_known_at) h
        where a.namespace_id = p_namespace_id and a.aspect_id = s.id and h.held) t
    where s.namespace_id = p_namespace_id and s.entity_id = p_entity_id and s.created_at <= p_known_at
$$;
comment on function loci_internal.constellation_aspects(integer, uuid, timestamptz, timestamptz) is
    'Aspects of an entity with what held under them.';

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
