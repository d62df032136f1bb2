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
    v_most     double precision := least((v_settings ->> 'aspect_weight_max')::double precision, 1);
    v_at       timestamptz := clock_timestamp();
    v_since    timestamptz := v_at - (v_settings ->> 'aspect_stale_days')::double precision * interval '24 hours';
    v_used     uuid[];
    v_times    integer[];
    v_stale    uuid[];
    v_changes  double precision[];
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

    with changed as (
        update loci_data.aspects a
        set weight = greatest(v_least,
                              least(v_most, a.weight + u.times * (v_settings ->> 'feedback_delta')::double precision)),
            confirmed_at = greatest(a.confirmed_at, v_at), updated_at = greatest(a.updated_at, v_at)
        from unnest(v_used, v_times) u(id, times)
        join loci_data.aspects o on o.namespace_id = p_namespace_id and o.id = u.id
        where a.namespace_id = p_namespace_id and a.id = u.id
        returning a.weight - o.weight as change
    )
    select array_agg(c.change) into v_changes from changed c;
    confirmed := coalesce(cardinality(v_changes), 0);
    insert into loci_data.feedback_events (namespace_id, id, at, agent_id, session_id, kind, aspects, confirmations,
                                           change)
    select p_namespace_id, loci_api.uuid7(), v_at, loci.current_agent(), p_session_id, 'confirmation', confirmed,
           (select sum(t) from unnest(v_times) t), (select sum(c) from unnest(v_changes) c) where confirmed > 0;

    with changed as (
        update loci_data.aspects a
        set weight = greatest(v_least, a.weight - (v_settings ->> 'aspect_decay')::double precision),
            updated_at = greatest(a.updated_at, v_at)
        from unnest(v_stale) u(id)
        join loci_data.aspects o on o.namespace_id = p_namespace_id and o.id = u.id
        where a.namespace_id = p_namespace_id and a.id = u.id and a.weight > v_least
          and coalesce(a.confirmed_at, a.created_at) < v_since
        returning a.weight - o.weight as change
    )
    select array_agg(c.change) into v_changes from changed c;
    decayed := coalesce(cardinality(v_changes), 0);
    insert into loci_data.feedback_events (namespace_id, id, at, agent_id, session_id, kind, aspects, confirmations,
                                           change)
    select p_namespace_id, loci_api.uuid7(), v_at, loci.current_agent(), p_session_id, 'decay', decayed, 0,
           (select sum(c) from unnest(v_changes) c)
    where decayed > 0;
end $$;
comment on function loci_internal.learn_aspect_weights(integer, text, uuid[], boolean, out integer, out integer) is
    'Confirm the aspects behind memories, and let unconfirmed ones decay; how many of each.';
