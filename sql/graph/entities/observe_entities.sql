-- Observations of entities: parsed, joined with known ones, saved.

-- Observations change entities: they count, once a memory; one of a new conversation restores confidence by the
-- setting reinforcement, one of the same conversation does not. A conversation is a session; else a memory; else this
-- very call.
-- full 1.0 | initial the initial confidence | running_average (c × n + given) / (n + 1), given 1.0 where
-- none is
--            stated
-- The first observation of an entity (observations = 0: save_entities has just made it) leaves its initial confidence.
-- Memories get their mentions here, and entities.mentions counts them. seen_at lowers first_seen_at, even where nothing
-- counts. Entities are locked first, in order of canonical_name; who holds an entity alone writes its mentions and
-- sessions, so that the second statement sees what others wrote until then. Index look-ups: primary keys.
create or replace function loci_internal.observe_entities(p_namespace_id integer, p_sightings loci_internal.sighting[],
                                                          p_at timestamptz) returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan
-- where there is a choice: the size of a batch is unknown to the planner
set enable_nestloop = off set enable_seqscan = off
as $$
declare
    v_mode text := loci_internal.settings(p_namespace_id) ->> 'reinforcement';
begin
    perform loci_internal.current_operation_id();  -- of which its mentions and evidence are
    perform from loci_data.entities e
    where e.namespace_id = p_namespace_id and e.id = any(array(select distinct s.entity_id from unnest(p_sightings) s))
    order by e.canonical_name for no key update;

    with sighting as materialized (
        select row_number() over () as ordinal, s.* from unnest(p_sightings) s
    ), paired as materialized (  -- once a memory
        select p.*, m.observed
        from (select distinct on (s.entity_id, s.memory_id) s.* from sighting s where s.memory_id is not null
              order by s.entity_id, s.memory_id, s.ordinal) p
        left join lateral (select m.observed from loci_data.memory_mentions m
                           where m.namespace_id = p_namespace_id and m.memory_id = p.memory_id
                             and m.entity_id = p.entity_id offset 0) m on true
    ), mentioned as (
        insert into loci_data.memory_mentions (namespace_id, memory_id, entity_id, mention_text, observed, session_id)
        select p_namespace_id, p.memory_id, p.entity_id, coalesce(p.mention, ''), true, p.session_id
        from paired p where p.observed is null order by p.memory_id, p.entity_id
    ), noticed as (
        update loci_data.memory_mentions m set observed = true, session_id = p.session_id
        from paired p
        where not p.observed and m.namespace_id = p_namespace_id and m.memory_id = p.memory_id
          and m.entity_id = p.entity_id
          and m.memory_id = any(array(select o.memory_id from paired o where not o.observed))
    ), counted as (
        select s.ordinal, s.entity_id, s.session_id, case when s.session_id is null then s.memory_id end as memory_id,
               s.confidence,
               coalesce(s.seen_at, p_at) as seen_at
        from sighting s where s.memory_id is null
        union all
        select p.ordinal, p.entity_id, p.session_id, case when p.session_id is null then p.memory_id end, p.confidence,
               coalesce(p.seen_at, p_at)
        from paired p where p.observed is not true
    ), talk as materialized (  -- observations of an entity in one conversation
        select c.entity_id, c.session_id, c.memory_id, min(c.ordinal) as first, count(*)::integer as times,
               min(c.seen_at) as first_at,
               max(c.seen_at) as last_at,
               (array_agg(c.confidence order by c.ordinal) filter (where v_mode = 'running_average'))[1] as confidence
        from counted c group by c.entity_id, c.session_id, c.memory_id
    ), known as materialized (
        select t.*, k.observations is null as fresh
        from talk t
        left join lateral (select k.observations from loci_data.entity_sessions k
                           where k.namespace_id = p_namespace_id and k.entity_id = t.entity_id
                             and k.session_id = t.session_id offset 0) k on true
    ), noted as (
        insert into loci_data.entity_sessions as k (namespace_id, entity_id, session_id, observations,
                                                    first_observed_at, last_observed_at)
        select p_namespace_id, t.entity_id, t.session_id, t.times, t.first_at, t.last_at
        from known t where t.session_id is not null order by t.entity_id, t.session_id
        on conflict (namespace_id, entity_id, session_id) do update
        set observations = k.observations + excluded.observations,
            first_observed_at = least(k.first_observed_at, excluded.first_observed_at),
            last_observed_at = greatest(k.last_observed_at, excluded.last_observed_at)
    ), outcome as materialized (
        select s.entity_id, s.seen_at, coalesce(t.times, 0) as times, coalesce(t.fresh, 0) as fresh,
               coalesce(m.mentions, 0) as mentions,
               t.sizes, t.given
        from (select s.entity_id, min(s.seen_at) as seen_at from sighting s group by s.entity_id) s
        left join (select t.entity_id, sum(t.times)::integer as times, count(*) filter (where t.fresh) as fresh,
                          array_agg(t.times order by t.first) filter (where v_mode = 'running_average') as sizes,
                          array_agg(case when t.fresh then coalesce(t.confidence, 1.0) end order by t.first)
                              filter (where v_mode = 'running_average') as given
                   from known t group by t.entity_id) t on t.entity_id = s.entity_id
        left join (select p.entity_id, count(*)::integer as mentions from paired p where p.observed is null
                   group by p.entity_id) m
             on m.entity_id = s.entity_id
    )
    update loci_data.entities e
    set observations = e.observations + o.times, mentions = e.mentions + o.mentions,
        first_seen_at = least(e.first_seen_at, o.seen_at),
        confidence = case when o.fresh = 0 or (e.observations = 0 and o.fresh = 1) then e.confidence
                          when v_mode = 'full' then 1.0 when v_mode = 'initial' then e.initial_confidence
                          else loci_internal.running_average_confidence(e.confidence, e.observations, o.sizes, o.given)
                              end,
        updated_at = greatest(e.updated_at, p_at)
    from outcome o
    where e.namespace_id = p_namespace_id and e.id = any(array(select x.entity_id from outcome x))
      and e.id = o.entity_id
      and (o.times > 0 or o.mentions > 0 or o.seen_at < e.first_seen_at);
end $$;
comment on function loci_internal.observe_entities(integer, loci_internal.sighting[], timestamptz) is
    'Count observations of entities, restore their confidence in new conversations, and write the mentions of '
    'memories.';

-- The setting reinforcement = running_average: confidence after conversations, one after the other. Each
-- observes
-- p_sizes times; the first observation of a new one (p_given not null) moves confidence to (c × n + given) / (n + 1),
-- the others only raise n. Before any observation (n = 0) confidence is the initial one, and the first leaves it. Pure.
create or replace function loci_internal.running_average_confidence(p_confidence double precision, p_n integer,
                                                                    p_sizes integer[], p_given double precision[])
returns double precision
language plpgsql immutable parallel safe
as $$
declare
    v_confidence double precision := p_confidence;
    v_n          integer := p_n;
begin
    for v_i in 1..cardinality(p_sizes) loop
        if v_n > 0 and p_given[v_i] is not null then
            v_confidence := (v_confidence * v_n + p_given[v_i]) / (v_n + 1);
        end if;
        v_n := v_n + p_sizes[v_i];
    end loop;
    return least(v_confidence, 1);
end $$;
comment on function loci_internal.running_average_confidence(double precision, integer, integer[],
                                                             double precision[]) is
    'Confidence after conversations under reinforcement = running_average.';

-- The entities of a write, typed and checked: names trimmed, types in their one form; one row an item, ordinal from 1.
-- Pure but for what it raises. Errors: 22023 naming the field and the value.
create or replace function loci_internal.parse_entities(p_entities jsonb)
returns table (ordinal integer, name text, canonical_name text, type text, aliases text[], description text,
               metadata jsonb, confidence double precision, seen_at timestamptz)
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_wrong record;
begin
    if jsonb_typeof(p_entities) is distinct from 'array' then
        raise invalid_parameter_value using message = 'entities must be a JSON array', column = 'entities';
    end if;
    return query
    select i.ordinal::integer, btrim(i.name), loci.canonical_name(i.name), loci.canonical_type(i.type), i.aliases,
           i.description,
           i.metadata, i.confidence, i.seen_at
    from rows from (jsonb_to_recordset(p_entities) as (name text, type text, aliases text[], description text,
                                                       metadata jsonb, confidence double precision,
                                                       seen_at timestamptz))
         with ordinality as i(name, type, aliases, description, metadata, confidence, seen_at, ordinal);

    select i.place - 1 as place, w.field, w.value into v_wrong
    from jsonb_array_elements(p_entities) with ordinality i(item, place)
    cross join lateral (values
        ('name', i.item ->> 'name', coalesce(length(btrim(i.item ->> 'name')) between 1 and 255
                                             and loci.canonical_name(i.item ->> 'name') <> '', false)),
        ('type', i.item ->> 'type', loci.canonical_type(i.item ->> 'type') ~ '^[a-z0-9][a-z0-9_-]{0,63}$'),
        ('aliases', i.item ->> 'aliases', i.item -> 'aliases' = 'null'
         or not (i.item @? '$.aliases[*] ? (@.type() == "null" || @ like_regex "^.{255}." flag "s")')),
        ('metadata', i.item ->> 'metadata', jsonb_typeof(i.item -> 'metadata') in ('object', 'null')),
        ('confidence', i.item ->> 'confidence', (i.item ->> 'confidence')::double precision between 0 and 1),
        ('session_id', i.item ->> 'session_id', length(i.item ->> 'session_id') between 1 and 255),
        ('seen_at', i.item ->> 'seen_at', isfinite((i.item ->> 'seen_at')::timestamptz))
    ) w(field, value, right_one)
    where not w.right_one
    order by i.place, w.field limit 1;
    if found then
        raise invalid_parameter_value using
            message = format('entities[%s].%s is not valid: %s', v_wrong.place, v_wrong.field,
                             coalesce(left(v_wrong.value, 100), 'null')),
            column = format('entities[%s].%s', v_wrong.place, v_wrong.field);
    end if;
end $$;
comment on function loci_internal.parse_entities(jsonb) is
    'JSON array of entities as typed rows; ordinal counts from 1. Errors: 22023.';

-- The aliases that an entity keeps: in order, as first written, none twice, none equal to the name itself, none empty.
-- Pure.
create or replace function loci_internal.clean_aliases(p_aliases text[], p_canonical_name text) returns text[]
language sql immutable parallel safe
as $$
    select coalesce(array_agg(a.alias order by a.place), '{}')
    from (select distinct on (loci.canonical_name(u.alias)) btrim(u.alias) as alias, u.place
          from unnest(p_aliases) with ordinality u(alias, place)
          where loci.canonical_name(u.alias) not in (p_canonical_name, '')
          order by loci.canonical_name(u.alias), u.place) a
$$;
comment on function loci_internal.clean_aliases(text[], text) is
    'Aliases without repetitions and without the canonical name.';

-- Write entities: what they say of themselves (describe_entities), and that they were observed (observe_entities): in
-- the conversation session_id, else by the memory memory_id, else in this call. A stated confidence is the initial one
-- of a new entity; for a known one it is what a running average is given. One row an item, ordinal from 1; created is
-- true for the first item of a new entity. Errors: 22023 (a forgotten memory, too), 23503 (memory).
create or replace function loci_internal.save_entities(p_namespace_id integer, p_entities jsonb, p_at timestamptz)
returns table (ordinal integer, id uuid, name text, created boolean)
language plpgsql volatile set search_path = ''
as $$
declare
    v_ids     uuid[];
    v_names   text[];
    v_created boolean[];
begin
    if p_entities @? '$[*].memory_id ? (@ != null)' then
        perform loci_internal.lock_active_evidence(p_namespace_id, array(
            select (i.item ->> 'memory_id')::uuid from jsonb_array_elements(p_entities) with ordinality i(item, place)
            order by i.place), 'entities');
    end if;
    select array_agg(d.id order by d.ordinal), array_agg(d.name order by d.ordinal),
           array_agg(d.created order by d.ordinal)
    into v_ids, v_names, v_created
    from loci_internal.describe_entities(p_namespace_id, p_entities, p_at) d;
    perform loci_internal.observe_entities(p_namespace_id, array_agg(
        (v_ids[i.ordinal], i.memory_id, i.session_id, i.confidence, i.seen_at, i.name)::loci_internal.sighting
            order by i.ordinal), p_at)
    from rows
    from (jsonb_to_recordset(p_entities) as (name text, memory_id uuid, session_id text, confidence double precision,
                                             seen_at timestamptz))
         with ordinality as i(name, memory_id, session_id, confidence, seen_at, ordinal)
    having count(*) > 0;
    return query select u.ordinal::integer, u.id, u.name, u.created
                 from unnest(v_ids, v_names, v_created) with ordinality u(id, name, created, ordinal)
                 order by u.ordinal;
end $$;
comment on function loci_internal.save_entities(integer, jsonb, timestamptz) is
    'Upsert and observe entities: JSON array of {name, type?, aliases?, description?, metadata?, confidence?, '
    'session_id?, memory_id?, seen_at?}. Errors: 22023.';
