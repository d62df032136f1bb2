-- Traversal: paths over edges, breadth first.

-- What is connected to these entities? Breadth first from names, aliases or ids, and from those that p_text names, in
-- its order; each edge once, in order of discovery (see expand_entities: within an entity what matters most, and first
-- the types that p_question, else p_text, names), with hop and effective confidence. On request, path: names, and
-- between them edge types with the way in which they point, from a start to the far end, the shortest way, found first;
-- and score: the product of the effective confidences along it. truncated, the same on every row, says which bounds cut
-- it short, in the order in which they did: limit, fan_out, time. p_min_confidence below the namespace's threshold
-- shows faded edges. As of p_as_of, by what was known at p_known_at (null: by what is believed now); strength, names,
-- and the rates and the threshold of decay are the present ones. Indexes edges_source, edges_target; the work is
-- expand_entities', and traversal_paths' where paths or scores are asked for. bench/traverse.py measures it over
-- 100,000 entities and 500,000 edges. Security definer: the hot path, past the policies; checks the caller itself.
-- Errors: 42501, P0002, 22023.
create or replace function loci.traverse(
    p_namespace text, p_start text[], p_edge_types text[] default null, p_direction text default 'both',
    p_max_hops integer default null, p_limit integer default 100, p_min_confidence double precision default null,
    p_min_strength double precision default 0, p_as_of timestamptz default null, p_paths boolean default false,
    p_known_at timestamptz default null, p_text text default null, p_scores boolean default false,
    p_question text default null)
returns table (id uuid, source_id uuid, source text, type text, target_id uuid, target text, literal text,
               confidence double precision, strength double precision, hop integer, path text[],
               score double precision, ordinal integer, truncated text[])
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_nestloop = off set enable_seqscan = off
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_max_hops     integer := coalesce(p_max_hops, (loci_internal.settings(v_namespace_id) ->> 'max_hops')::integer);
    v_as_of        timestamptz := coalesce(p_as_of, clock_timestamp());
    v_known_at     timestamptz := coalesce(p_known_at, 'infinity');
    v_start        uuid[];
    v_named        text[];
begin
    perform loci_internal.refuse_wrong_traversal(p_start, p_direction, v_max_hops, p_limit, p_as_of, p_known_at,
                                                 p_text);
    p_min_strength := coalesce(p_min_strength, 0);
    p_edge_types := (select array_agg(loci.canonical_type(t)) from unnest(p_edge_types) t);
    v_start := loci_internal.resolve_entities(v_namespace_id, p_start, 'start', v_known_at);
    if p_text is not null then
        v_start := v_start || array(select f.id from loci_internal.find_entities_in_text(v_namespace_id, p_text) f
                                    where f.id <> all(v_start) order by f.position, f.id limit 1000);
    end if;
    v_named := case when coalesce(p_question, p_text, '') = '' then '{}'
        else loci_internal.types_named_in_text(v_namespace_id, coalesce(p_question, p_text)) end;
    if p_paths or p_scores then
        return query
        select w.id, w.source_id, w.source, w.type, w.target_id, w.target, w.literal, w.confidence, w.strength, w.hop,
               case when p_paths then w.path end, case when p_scores then w.score end, w.ordinal, w.truncated
        from loci_internal.traversal_paths(v_namespace_id, v_start, p_edge_types, p_direction, v_max_hops, p_limit,
                                           p_min_confidence, p_min_strength,
                                           v_as_of, v_known_at, v_named) w
        order by w.ordinal;
        return;
    end if;
    return query
    select e.* from loci_internal.traversal_edges(v_namespace_id, v_start, p_edge_types, p_direction, v_max_hops,
                                                  p_limit, p_min_confidence, p_min_strength, v_as_of, v_known_at,
                                                  v_named) e
    order by e.ordinal;
end $$;
comment on function loci.traverse(text, text[], text[], text, integer, integer, double precision, double precision,
                                  timestamptz, boolean, timestamptz, text, boolean, text) is
    'Edges around entities (names, aliases, ids, or named in a text), breadth first, each once, what matters most '
    'first within an entity, with hop, effective confidence and, on request, path and score. Errors: 42501, P0002, '
    '22023.';

-- Refuse what no traversal can be asked for. Errors: 22023 naming the argument and its value.
create or replace function loci_internal.refuse_wrong_traversal(
    p_start text[], p_direction text, p_max_hops integer, p_limit integer, p_as_of timestamptz,
    p_known_at timestamptz, p_text text) returns void
language plpgsql stable
as $$
declare
    v_wrong record;
begin
    select w.field, w.value, w.allowed into v_wrong
    from (values
        ('start', p_start::text, 'at least one entity, unless a text is given',
         cardinality(p_start) > 0 or p_text is not null),
        ('direction', p_direction, 'out, in or both', p_direction in ('out', 'in', 'both')),
        ('max_hops', p_max_hops::text, '0 to 20', p_max_hops between 0 and 20),
        ('limit', p_limit::text, '1 to 10000', p_limit between 1 and 10000),
        ('as_of', p_as_of::text, 'a finite time', p_as_of is null or isfinite(p_as_of)),
        ('known_at', p_known_at::text, 'a finite time', p_known_at is null or isfinite(p_known_at)))
         w(field, value, allowed, right_one)
    where w.right_one is not true limit 1;
    if found then
        raise invalid_parameter_value using
            message = format('%s must be %s, not %s', v_wrong.field, v_wrong.allowed, coalesce(v_wrong.value, 'null')),
            column = v_wrong.field;
    end if;
end $$;
comment on function loci_internal.refuse_wrong_traversal is
    'Refuse arguments that a traversal cannot have. Errors: 22023.';

-- A walk without paths: edges in order of discovery with the names of their ends; path and score are null. Inlines.
create or replace function loci_internal.traversal_edges(
    p_namespace_id integer, p_ids uuid[], p_edge_types text[], p_direction text, p_max_hops integer, p_limit integer,
    p_min_confidence double precision, p_min_strength double precision, p_as_of timestamptz, p_known_at timestamptz,
    p_named text[])
returns table (id uuid, source_id uuid, source text, type text, target_id uuid, target text, literal text,
               confidence double precision, strength double precision, hop integer, path text[],
               score double precision, ordinal integer, truncated text[])
language sql stable
as $$
    with found as materialized (
        select e.* from loci_internal.expand_entities(
            p_namespace_id, p_ids, p_edge_types, p_direction, p_max_hops, p_limit, p_min_confidence, p_min_strength,
            p_as_of, p_known_at, p_named) e
    ), named as materialized (  -- the ids at once, so that each page of the key is read once
        select o.id, o.name from loci_data.entities o
        where o.namespace_id = p_namespace_id and o.id = any(p_ids || array(select f.far_id from found f))
    )
    select f.id, f.source_id, s.name, f.type, f.target_id, t.name, f.literal, f.confidence, f.strength, f.hop,
           null::text[], null::double precision, f.ordinal,
           (select max(b.truncated) from found b where b.ordinal is null)
    from found f
    join named s on s.id = f.source_id
    left join named t on t.id = f.target_id
$$;
comment on function loci_internal.traversal_edges is
    'Edges around entities with their names.';

-- A walk with the way to each edge: names, and between them steps, from a start to the far end, by the shortest way
-- that was found first, and as its score the product of the effective confidences on it. A function of its own, because
-- its recursion would cost every walk that asks for no paths. Cost: a hash join a hop over what expand_entities found.
create or replace function loci_internal.traversal_paths(
    p_namespace_id integer, p_ids uuid[], p_edge_types text[], p_direction text, p_max_hops integer, p_limit integer,
    p_min_confidence double precision, p_min_strength double precision, p_as_of timestamptz, p_known_at timestamptz,
    p_named text[])
returns table (id uuid, source_id uuid, source text, type text, target_id uuid, target text, literal text,
               confidence double precision, strength double precision, hop integer, path text[], score double precision,
               ordinal integer, truncated text[])
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan
set enable_nestloop = off set enable_seqscan = off
as $$
begin
    return query
    with recursive found as materialized (
        select e.* from loci_internal.expand_entities(
            p_namespace_id, p_ids, p_edge_types, p_direction, p_max_hops, p_limit, p_min_confidence, p_min_strength,
            p_as_of, p_known_at, p_named) e
    ), named as materialized (  -- the ids in order, so that each page of the key is read once
        select o.id, o.name from loci_data.entities o
        where o.namespace_id = p_namespace_id
          and o.id = any(p_ids || array(select f.far_id from found f))
    ), walked as (
        select f.ordinal, array[s.name, g.step, coalesce(t.name, f.literal)] as path, f.confidence as score
        from found f join named s on s.id = f.from_id left join named t on t.id = f.far_id
        cross join lateral loci_internal.path_step(f.type, f.source_id = f.from_id) g(step) where f.via is null
        union all
        select f.ordinal, w.path || g.step || coalesce(t.name, f.literal), w.score * f.confidence
        from walked w join found f on f.via = w.ordinal left join named t on t.id = f.far_id
        cross join lateral loci_internal.path_step(f.type, f.source_id = f.from_id) g(step)
    )
    select f.id, f.source_id, s.name, f.type, f.target_id, t.name, f.literal, f.confidence, f.strength, f.hop, w.path,
           w.score, f.ordinal,
           (select max(b.truncated) from found b where b.ordinal is null)
    from found f
    join named s on s.id = f.source_id
    left join named t on t.id = f.target_id
    join walked w on w.ordinal = f.ordinal
    order by f.ordinal;
end $$;
comment on function loci_internal.traversal_paths(integer, uuid[], text[], text, integer, integer, double precision,
                                                  double precision, timestamptz, timestamptz, text[]) is
    'Edges around entities with their names and the path to each.';

-- An edge as people and models read it: Alice --works_on--> RockBot (confidence=0.90), a literal in quotation marks. On
-- one line, with any names. Pure. for anybody's queries.
create or replace function loci.triple(p_source text, p_type text, p_target text, p_literal text,
                                       p_confidence double precision) returns text
language sql immutable parallel safe
return regexp_replace(
    concat(p_source, ' --', p_type, '--> ', coalesce(p_target, '"' || p_literal || '"'), ' (confidence=',
           to_char(p_confidence, 'FM0.00'), ')'),
    '\s+', ' ', 'g');
comment on function loci.triple(text, text, text, text, double precision) is
    'A line that shows an edge: source, type, target or literal, confidence.';

-- A step of a path, with the way in which the edge points: along it --works_on-->, against it <--works_on--. Pure.
create or replace function loci_internal.path_step(p_type text, p_along boolean) returns text
language sql immutable parallel safe
return case when p_along then '--' || p_type || '-->' else '<--' || p_type || '--' end;
comment on function loci_internal.path_step(text, boolean) is
    'An edge type as a step of a path, with the way in which it points.';
