-- Aspects: headings under an entity, their weights, and those that are empty.

-- What hangs under an entity? Its aspects, heaviest first, each with the attributes and constraints that held
-- at p_as_of, as known at p_known_at (null: now, and as believed now), most important first. A superseded attribute
-- held until it was replaced; a deleted one never did. The weight of an aspect is a present figure. Cost follows the
-- attributes of the entity. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci.list_aspects(p_namespace text, p_entity text, p_as_of timestamptz default null,
                                             p_known_at timestamptz default null)
returns table (id uuid, entity_id uuid, name text, canonical_name text, weight double precision, single_valued boolean,
               confirmed_at timestamptz, created_at timestamptz, updated_at timestamptz, attributes jsonb,
               constraints jsonb)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_entity_id    uuid := loci_internal.entity_at_or_removed(v_namespace_id, p_entity, p_known_at);
    v_as_of        timestamptz := coalesce(p_as_of, clock_timestamp());
    v_known_at     timestamptz := coalesce(p_known_at, 'infinity');
begin
    if v_entity_id is null then
        raise no_data_found using message = format('entity %L does not exist', p_entity), column = 'entity';
    end if;
    return query
    select a.id, a.entity_id, a.name, a.canonical_name, a.weight, a.single_valued, a.confirmed_at, a.created_at,
           a.updated_at,
           coalesce(held.attributes, '[]'), coalesce(held.constraints, '[]')
    from loci_data.aspects a
    cross join lateral (
        select jsonb_agg(to_jsonb(r) order by r.importance desc, r.id)
            filter (where r.kind = 'attribute') as attributes,
               jsonb_agg(to_jsonb(r) order by r.importance desc, r.id)
                   filter (where r.kind = 'constraint') as constraints
        from loci_internal.attribute_rows(v_namespace_id, a.id, v_known_at) r
        where r.status <> 'deleted'
          and loci.holds_at(r.valid_from, r.valid_to, r.recorded_at, null, v_as_of, v_known_at)) held
    where a.namespace_id = v_namespace_id and a.entity_id = v_entity_id and a.created_at <= v_known_at
    order by a.weight desc, a.canonical_name;
end $$;
comment on function loci.list_aspects(text, text, timestamptz, timestamptz) is
    'Aspects of an entity with the attributes and constraints that held at a moment, as known at another. Errors: '
    '42501, P0002.';

-- Give an entity an aspect, or change the one it has by this name: upsert by canonical name. Fields that are not stated
-- keep their values; the name stays as first written. single_valued null: the words of its attributes decide; declared
-- later, it holds for what is written from then on, and a sweep applies it to what is there. Security definer: writes
-- past the policies; checks the caller itself. Errors: 42501, P0002 (namespace, entity), 22023 naming the field.
create or replace function loci_api.upsert_aspect(p_namespace text, p_entity text, p_aspect jsonb)
returns table (id uuid, entity_id uuid, name text, canonical_name text, weight double precision, single_valued boolean,
               confirmed_at timestamptz, created_at timestamptz, updated_at timestamptz, created boolean)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_entity_id    uuid := (loci_internal.resolve_entities(v_namespace_id, array[p_entity], 'entity'))[1];
    v_fault        text := case when p_aspect ->> 'name' is null then 'name'
                                else loci_internal.first_invalid_attribute_field(p_aspect,
                                    '{name,weight,single_valued}') end;
    v_id           uuid := loci_api.uuid7();
    v_at           timestamptz := clock_timestamp();
begin
    if v_fault is not null then
        raise invalid_parameter_value using
            message = format('%s: %s is not valid for an aspect', v_fault, coalesce(p_aspect -> v_fault, 'null')),
            column = v_fault;
    end if;
    return query
    insert into loci_data.aspects as a (namespace_id, id, entity_id, name, canonical_name, weight, single_valued,
                                        created_at, updated_at)
    values (v_namespace_id, v_id, v_entity_id, btrim(p_aspect ->> 'name'), loci.canonical_name(p_aspect ->> 'name'),
            coalesce((p_aspect ->> 'weight')::double precision, 0.5), (p_aspect ->> 'single_valued')::boolean, v_at,
            v_at)
    on conflict (namespace_id, entity_id, canonical_name) do update
    set weight = case when p_aspect ? 'weight' then excluded.weight else a.weight end,
        single_valued = case when p_aspect ? 'single_valued' then excluded.single_valued else a.single_valued end,
        updated_at = greatest(a.updated_at, v_at)
    returning a.id, a.entity_id, a.name, a.canonical_name, a.weight, a.single_valued, a.confirmed_at, a.created_at,
              a.updated_at, a.id = v_id;
end $$;
comment on function loci_api.upsert_aspect(text, text, jsonb) is
    'Upsert an aspect of an entity: {name, weight?, single_valued?}; returns it and whether it is new. Errors: 42501, '
    'P0002, 22023.';

-- Weights of aspects, as use teaches them. Each aspect over which one of p_ids hangs by an active attribute gains
-- settings feedback_delta for each such memory. With p_decay, aspects that nothing has confirmed for aspect_stale_days
-- lose aspect_decay, down to aspect_weight_min. Weights that change end between aspect_weight_min and
-- aspect_weight_max. All aspects are locked first, in order of their ids, so that ends of sessions wait for each other
-- and never in a circle. One event for each kind that touched any. Index attributes_memory; decay reads the aspects of
-- the namespace.
create or replace function loci_internal.learn_aspect_weights(
    p_namespace_id integer, p_session_id text, p_ids uuid[], p_decay boolean, out confirmed integer,
    out decayed integer)
language plpgsql volatile set search_path = ''
as $$
declare
    v_settings jsonb := loci_internal.settings(p_namespace_id);
    v_least    double precision := v_settings ->> 'aspect_weight_min';
    v_at       timestamptz := clock_timestamp();
    v_since    timestamptz := v_at - (v_settings ->> 'aspect_stale_days')::double precision * interval '24 hours';
    v_used     uuid[];
    v_times    integer[];
    v_stale    uuid[] := '{}';
begin
    select array_agg(u.aspect_id), array_agg(u.times) into v_used, v_times
    from (select a.aspect_id, count(distinct a.memory_id)::integer as times from loci_data.attributes a
          where a.namespace_id = p_namespace_id and a.memory_id = any (p_ids) and a.status = 'active'
          group by a.aspect_id) u;
    if p_decay then
        v_stale := array(
            select a.id from loci_data.aspects a
            where a.namespace_id = p_namespace_id
              and (a.id = any (v_used) or coalesce(a.confirmed_at, a.created_at) < v_since and a.weight > v_least)
            order by a.id for no key update);
    else
        perform from loci_data.aspects a where a.namespace_id = p_namespace_id and a.id = any (v_used) order by a.id
            for no key update;
    end if;
    confirmed := loci_internal.confirm_aspects(p_namespace_id, p_session_id, v_used, v_times, v_at);
    decayed := loci_internal.decay_aspects(p_namespace_id, p_session_id, v_stale, v_since, v_at);
end $$;
comment on function loci_internal.learn_aspect_weights(integer, text, uuid[], boolean, out integer, out integer) is
    'Confirm the aspects behind memories, and let unconfirmed ones decay; how many of each.';

-- Aspects gain settings feedback_delta for each of p_times, up to aspect_weight_max. The caller has locked them.
-- Returns how many there are.
create or replace function loci_internal.confirm_aspects(p_namespace_id integer, p_session_id text, p_ids uuid[],
                                                         p_times integer[], p_at timestamptz) returns integer
language plpgsql volatile set search_path = ''
as $$
declare
    v_settings jsonb := loci_internal.settings(p_namespace_id);
    v_least    double precision := v_settings ->> 'aspect_weight_min';
    v_most     double precision := least((v_settings ->> 'aspect_weight_max')::double precision, 1);
    v_changes  double precision[];
begin
    with changed as (
        update loci_data.aspects a
        set weight = greatest(v_least,
                              least(v_most, a.weight + u.times * (v_settings ->> 'feedback_delta')::double precision)),
            confirmed_at = greatest(a.confirmed_at, p_at), updated_at = greatest(a.updated_at, p_at)
        from unnest(p_ids, p_times) u(id, times)
        join loci_data.aspects o on o.namespace_id = p_namespace_id and o.id = u.id
        where a.namespace_id = p_namespace_id and a.id = u.id
        returning a.weight - o.weight as change
    )
    select coalesce(array_agg(c.change), '{}') into v_changes from changed c;
    perform loci_internal.record_weight_changes(p_namespace_id, p_session_id, 'confirmation',
                                                (select sum(t) from unnest(p_times) t), v_changes, p_at);
    return cardinality(v_changes);
end $$;
comment on function loci_internal.confirm_aspects(integer, text, uuid[], integer[], timestamptz) is
    'Raise the weights of aspects that were used; how many.';

-- Aspects that nothing has confirmed since p_since lose settings aspect_decay, down to aspect_weight_min. The caller
-- has locked them. Returns how many lose something.
create or replace function loci_internal.decay_aspects(p_namespace_id integer, p_session_id text, p_ids uuid[],
                                                       p_since timestamptz, p_at timestamptz) returns integer
language plpgsql volatile set search_path = ''
as $$
declare
    v_settings jsonb := loci_internal.settings(p_namespace_id);
    v_least    double precision := v_settings ->> 'aspect_weight_min';
    v_changes  double precision[];
begin
    with changed as (
        update loci_data.aspects a
        set weight = greatest(v_least, a.weight - (v_settings ->> 'aspect_decay')::double precision),
            updated_at = greatest(a.updated_at, p_at)
        from unnest(p_ids) u(id)
        join loci_data.aspects o on o.namespace_id = p_namespace_id and o.id = u.id
        where a.namespace_id = p_namespace_id and a.id = u.id and a.weight > v_least
          and coalesce(a.confirmed_at, a.created_at) < p_since
        returning a.weight - o.weight as change
    )
    select coalesce(array_agg(c.change), '{}') into v_changes from changed c;
    perform loci_internal.record_weight_changes(p_namespace_id, p_session_id, 'decay', 0, v_changes, p_at);
    return cardinality(v_changes);
end $$;
comment on function loci_internal.decay_aspects(integer, text, uuid[], timestamptz, timestamptz) is
    'Lower the weights of aspects that nothing has confirmed; how many.';

-- Record an event of feedback that changed the weights of aspects; of none, there is no event.
create or replace function loci_internal.record_weight_changes(
    p_namespace_id integer, p_session_id text, p_kind text, p_confirmations bigint, p_changes double precision[],
    p_at timestamptz) returns void
language sql volatile set search_path = ''
as $$
    insert into loci_data.feedback_events (namespace_id, id, at, agent_id, session_id, kind, aspects, confirmations,
                                           change)
    select p_namespace_id, loci_api.uuid7(), p_at, loci.current_agent(), p_session_id, p_kind, cardinality(p_changes),
           p_confirmations, (select sum(c) from unnest(p_changes) c)
    where p_changes <> '{}'
$$;
comment on function loci_internal.record_weight_changes(
    integer, text, text, bigint, double precision[], timestamptz) is
    'Record that feedback changed the weights of aspects.';
