-- Neighbours of entities: edges at a moment, by direction and worth.

-- The edges of some entities that are worth following, in the order of the entities, then what matters most first:
-- types of p_named, then effective confidence × strength, then the newest, then in order of discovery. Two
-- half-queries (outgoing_edges, incoming_edges), never OR; each gives p_side edges and one more, which tells that
-- there are others (n). outward: the entity is the source. Edges are read in the order of edges_source_weight and
-- edges_target_weight, p_read of them that pass, and none after p_deadline; null: all, about 2 µs each. p_rates:
-- rates of the types that have their own. p_known_at infinity: the present belief.
create or replace function loci_internal.adjacent_edges(
    p_namespace_id integer, p_ids uuid[], p_edge_types text[], p_direction text, p_side integer,
    p_alive_after timestamptz, p_trusted boolean, p_least double precision, p_min_strength double precision,
    p_rate double precision, p_rates jsonb, p_as_of timestamptz, p_known_at timestamptz, p_named text[],
    p_read integer, p_deadline timestamptz)
returns table (place bigint, from_id uuid, far_id uuid, n bigint, id uuid, outward boolean, type text, literal text,
               strength double precision, worth double precision, named boolean, weight double precision,
               last_observed_at timestamptz)
language sql stable parallel safe
as $$
    select f.place, f.id, e.*
    from unnest(p_ids) with ordinality f(id, place)
    cross join lateral (
        (select e.target_id, row_number() over w, e.id, true, e.type, e.literal, e.strength, e.worth, e.named,
                e.worth * e.strength, e.last_observed_at
         from (select n.*, true as named
               from loci_internal.outgoing_edges(p_namespace_id, f.id, p_edge_types, p_named, '{}', p_alive_after,
                                                 p_trusted, p_least, p_min_strength, p_rate, p_rates, p_as_of,
                                                 p_known_at, p_read, p_deadline) n
               where p_direction <> 'in' and p_named <> '{}'
               union all
               select o.*, false
               from loci_internal.outgoing_edges(p_namespace_id, f.id, p_edge_types, null, p_named, p_alive_after,
                                                 p_trusted, p_least, p_min_strength, p_rate, p_rates, p_as_of,
                                                 p_known_at, p_read, p_deadline) o
               where p_direction <> 'in') e
         window w as (order by e.named desc, e.worth * e.strength desc, e.last_observed_at desc, e.id)
         order by e.named desc, e.worth * e.strength desc, e.last_observed_at desc, e.id limit p_side + 1)
        union all
        (select e.source_id, row_number() over w, e.id, false, e.type, e.literal, e.strength, e.worth, e.named,
                e.worth * e.strength, e.last_observed_at
         from (select n.*, true as named
               from loci_internal.incoming_edges(p_namespace_id, f.id, p_edge_types, p_named, '{}', p_alive_after,
                                                 p_trusted, p_least, p_min_strength, p_rate, p_rates, p_as_of,
                                                 p_known_at, p_read, p_deadline) n
               where p_direction <> 'out' and p_named <> '{}'
               union all
               select o.*, false
               from loci_internal.incoming_edges(p_namespace_id, f.id, p_edge_types, null, p_named, p_alive_after,
                                                 p_trusted, p_least, p_min_strength, p_rate, p_rates, p_as_of,
                                                 p_known_at, p_read, p_deadline) o
               where p_direction <> 'out') e
         where e.source_id <> f.id or p_direction = 'in'  -- a loop is found once
         window w as (order by e.named desc, e.worth * e.strength desc, e.last_observed_at desc, e.id)
         order by e.named desc, e.worth * e.strength desc, e.last_observed_at desc, e.id limit p_side + 1)
    ) e(far_id, n, id, outward, type, literal, strength, worth, named, weight, last_observed_at)
    order by f.place, e.named desc, e.weight desc, e.last_observed_at desc, e.id
$$;
comment on function loci_internal.adjacent_edges is
    'Edges at entities that pass the filters of a traversal, what matters most first, at most p_side + 1 a direction.';

-- The edges from an entity that matter most and pass the filters of a traversal, at most p_read: of the types
-- p_only (null: all) but p_but. See adjacent_edges. Inlines. Index edges_source_weight.
create or replace function loci_internal.outgoing_edges(
    p_namespace_id integer, p_id uuid, p_edge_types text[], p_only text[], p_but text[], p_alive_after timestamptz,
    p_trusted boolean, p_least double precision, p_min_strength double precision, p_rate double precision,
    p_rates jsonb, p_as_of timestamptz, p_known_at timestamptz, p_read integer, p_deadline timestamptz)
returns table (id uuid, source_id uuid, target_id uuid, type text, literal text, strength double precision,
               worth double precision, last_observed_at timestamptz)
language sql stable parallel safe
as $$
    select e.id, e.source_id, e.target_id, e.type, e.literal, e.strength,
           loci_internal.edge_worth(e, p_rate, p_rates, p_as_of, p_known_at), e.last_observed_at
    from loci_data.edges e
    where e.namespace_id = p_namespace_id and e.source_id = p_id and clock_timestamp() < p_deadline
      and (p_only is null or e.type = any (p_only)) and e.type <> all (p_but)
      and loci_internal.edge_is_followed(e, p_edge_types, p_alive_after, p_trusted, p_least, p_min_strength, p_rate,
                                         p_rates, p_as_of, p_known_at)
    order by ln(greatest(e.confidence * e.strength, 1e-9))
             + date_part('epoch', e.restored_at - timestamptz '1970-01-01 00:00:00+00') / 8640000 desc, e.id
    limit p_read
$$;
comment on function loci_internal.outgoing_edges is
    'Edges from an entity that pass the filters of a traversal, what matters most first.';

-- The edges to an entity that matter most and pass the filters of a traversal, at most p_read and one more, which
-- may be a loop: of the types p_only (null: all) but p_but. See adjacent_edges. Inlines. Index edges_target_weight.
create or replace function loci_internal.incoming_edges(
    p_namespace_id integer, p_id uuid, p_edge_types text[], p_only text[], p_but text[], p_alive_after timestamptz,
    p_trusted boolean, p_least double precision, p_min_strength double precision, p_rate double precision,
    p_rates jsonb, p_as_of timestamptz, p_known_at timestamptz, p_read integer, p_deadline timestamptz)
returns table (id uuid, source_id uuid, target_id uuid, type text, literal text, strength double precision,
               worth double precision, last_observed_at timestamptz)
language sql stable parallel safe
as $$
    select e.id, e.source_id, e.target_id, e.type, e.literal, e.strength,
           loci_internal.edge_worth(e, p_rate, p_rates, p_as_of, p_known_at), e.last_observed_at
    from loci_data.edges e
    where e.namespace_id = p_namespace_id and e.target_id = p_id and clock_timestamp() < p_deadline
      and (p_only is null or e.type = any (p_only)) and e.type <> all (p_but)
      and loci_internal.edge_is_followed(e, p_edge_types, p_alive_after, p_trusted, p_least, p_min_strength, p_rate,
                                         p_rates, p_as_of, p_known_at)
    order by ln(greatest(e.confidence * e.strength, 1e-9))
             + date_part('epoch', e.restored_at - timestamptz '1970-01-01 00:00:00+00') / 8640000 desc, e.id
    limit p_read + 1
$$;
comment on function loci_internal.incoming_edges is
    'Edges to an entity that pass the filters of a traversal, what matters most first.';

-- Does a traversal follow this edge? Most edges answer for themselves: not observed after p_as_of, not changed after
-- p_known_at. For them alive is a comparison, fades_at > p_alive_after; where p_trusted, that is enough, and the
-- exponential is in no filter. Others must be worth p_least (edge_worth). Inlines.
create or replace function loci_internal.edge_is_followed(
    p_edge loci_data.edges, p_edge_types text[], p_alive_after timestamptz, p_trusted boolean,
    p_least double precision, p_min_strength double precision, p_rate double precision, p_rates jsonb,
    p_as_of timestamptz, p_known_at timestamptz) returns boolean
language sql stable parallel safe
as $$
    select (p_edge).recorded_at <= p_known_at
       and ((p_edge).superseded_at is null or (p_edge).superseded_at > p_known_at)
       and (p_edge).strength >= p_min_strength and (p_edge_types is null or (p_edge).type = any (p_edge_types))
       and case when (p_edge).last_observed_at <= p_as_of and (p_edge).updated_at <= p_known_at
           then (p_edge).fades_at > p_alive_after
                and loci_internal.holds_in((p_edge).valid_from, (p_edge).valid_to, (p_edge).spells, p_as_of)
                and (p_trusted or loci_internal.edge_worth(p_edge, p_rate, p_rates, p_as_of, p_known_at) >= p_least)
           else ((p_edge).updated_at > p_known_at
                 or loci_internal.holds_in((p_edge).valid_from, (p_edge).valid_to, (p_edge).spells, p_as_of))
                and loci_internal.edge_worth(p_edge, p_rate, p_rates, p_as_of, p_known_at) >= p_least end
$$;
comment on function loci_internal.edge_is_followed is
    'Whether an edge passes the filters of a traversal.';

-- What is an edge worth at p_as_of, by what was known at p_known_at? The row answers where it can; one that was
-- observed once, later, is worth what was stated; else the evidence is asked (confidence_at). Inlines.
create or replace function loci_internal.edge_worth(
    p_edge loci_data.edges, p_rate double precision, p_rates jsonb, p_as_of timestamptz, p_known_at timestamptz)
returns double precision
language sql stable parallel safe
as $$
    select case
        when (p_edge).updated_at <= p_known_at and (p_edge).last_observed_at <= p_as_of
        then loci.effective_confidence((p_edge).confidence,
                                       coalesce((p_rates ->> (p_edge).type)::double precision, p_rate),
                                       (p_edge).restored_at, p_as_of)
        when (p_edge).updated_at <= p_known_at and (p_edge).observations = 1 and (p_edge).first_observed_at > p_as_of
        then (p_edge).confidence
        else loci_internal.confidence_at((p_edge).namespace_id, (p_edge).id, (p_edge).valid_from, (p_edge).valid_to,
                                         (p_edge).spells,
                                         coalesce((p_rates ->> (p_edge).type)::double precision, p_rate), p_as_of,
                                         p_known_at) end
$$;
comment on function loci_internal.edge_worth is
    'Effective confidence of an edge at two moments.';

-- What does the graph know about a message? Two phases: match the entities that the text names, then walk from them,
-- breadth first, up to p_max_hops, of each entity what matters most first; the first p_limit edges found (null:
-- settings max_hops, context_triples). One row: entities as match_entities finds them, edges as traverse does, and
-- rendered, the lines that go before an inference, null where there is no edge. truncated says what ended the walk.
-- Touching the entities is touch_entities' business. Cost: that of match_entities and traverse, which do the work
-- and check for themselves. Security definer: reads the namespace's settings; checks the caller itself. Errors:
-- 42501, P0002, 22023.
create or replace function loci.graph_context(
    p_namespace text, p_text text, p_max_hops integer default null, p_limit integer default null,
    p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (entities jsonb, edges jsonb, rendered text, truncated text[])
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_start        text[];
begin
    select coalesce(jsonb_agg(to_jsonb(m) order by m.position, m.id), '[]'),
           array_agg(m.id::text order by m.position, m.id)
    into entities, v_start
    from (select f.* from loci.match_entities(p_namespace, p_text, p_as_of, p_known_at) f
          order by f.position, f.id limit 1000) m;
    select coalesce(jsonb_agg(to_jsonb(t) - '{path,score,ordinal,truncated}'::text[] order by t.ordinal), '[]'),
           E'Related knowledge graph connections:\n'
           || string_agg('- ' || loci.triple(t.source, t.type, t.target, t.literal, t.confidence), E'\n'
                         order by t.ordinal),
           max(t.truncated)
    into edges, rendered, truncated
    from loci.traverse(p_namespace, v_start, p_max_hops => p_max_hops,
                       p_limit =>
                           coalesce(p_limit, (loci_internal.settings(v_namespace_id) ->> 'context_triples')::integer),
                       p_as_of => p_as_of, p_known_at => p_known_at, p_text => '',
                       p_question => p_text) t;
    return next;
end $$;
comment on function loci.graph_context(text, text, integer, integer, timestamptz, timestamptz) is
    'Entities that a text names, the edges around them, and the lines that show these to a model. Errors: 42501, '
    'P0002, 22023.';

-- What is directly connected to this entity? One hop of traverse, in both directions, with its columns and its checks.
create or replace function loci.neighbors(p_namespace text, p_entity text, p_limit integer default 100,
                                          p_as_of timestamptz default null,
                                          p_known_at timestamptz default null)
returns table (id uuid, source_id uuid, source text, type text, target_id uuid, target text, literal text,
               confidence double precision, strength double precision, hop integer, path text[], score double precision,
               ordinal integer, truncated text[])
language sql stable
as $$
    select t.* from loci.traverse(p_namespace, array[p_entity], p_max_hops => 1, p_limit => p_limit,
                                  p_as_of => p_as_of, p_known_at => p_known_at) t
$$;
comment on function loci.neighbors(text, text, integer, timestamptz, timestamptz) is
    'Edges of one entity (name, alias or id), both directions; columns of traverse. Errors: 42501, P0002, 22023.';
