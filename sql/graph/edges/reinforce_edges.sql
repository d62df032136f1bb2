-- Second half of writing edges: what each observation of a known edge does to it, and the evidence. The observations of
-- one edge in one write count as if they came one after the other; window functions say so in one pass:
--   kept       not seen before from the same memory; one that was changes nothing
--   fresh      of a new conversation: no session, or one never seen on this edge
--   late       older than the newest observation until then: kept as evidence, it only lowers the edge's first
--            moments
--   restores   fresh and not late: sets confidence by the setting reinforcement, and decay counts from there
-- running average, (c × n + given) / (n + 1), is a linear recurrence: c = P × (c₀ + Σ given / (n + 1) / P), P = Π n /
-- (n + 1). Evidence that is fresh but late is marked restored too: at an as_of before the newer one, it is what
-- counted. p_ids: edges, by the ordinal of items; insert_edges has locked or made them. Returns the ordinals of the
-- items
-- that restored. Uses edge_observations_edge and edge_observations_memory.
create or replace function loci_internal.reinforce_edges(p_namespace_id integer, p_items loci_internal.edge_input[],
                                                         p_ids uuid[], p_at timestamptz)
returns integer[]
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan
-- where there is a choice: the size of a batch is unknown to the planner
set enable_nestloop = off set enable_seqscan = off
as $$
declare
    v_rates    record := loci_internal.lock_decay_rates(p_namespace_id);
    v_mode     text := v_rates.reinforcement;
    v_restored integer[];
begin
    with item as materialized (
        select i.*, coalesce(i.confidence, 1.0) as given, p_ids[i.ordinal] as edge_id,
               row_number() over (partition by p_ids[i.ordinal], i.memory_id order by i.ordinal) > 1
                   and i.memory_id is not null as repeated
        from unnest(p_items) i
    ), kept as materialized (
        select i.*, row_number() over (partition by i.edge_id, i.session_id order by i.ordinal) = 1 as first_of_session
        from item i
        where not i.repeated and (i.memory_id is null or (
            select o.id from loci_data.edge_observations o  -- not `exists`: it might be hashed, and read all evidence
            where o.namespace_id = p_namespace_id and o.memory_id = i.memory_id and o.edge_id = i.edge_id) is null)
    ), observed as (
        select k.*, e.confidence as old_confidence, e.initial_confidence, e.last_observed_at,
               (e.observations + row_number() over earlier - 1)::double precision as n, f.fresh,
               k.observed_at < greatest(e.last_observed_at, max(k.observed_at) filter (where f.fresh) over (
                   partition by k.edge_id order by k.ordinal rows between unbounded preceding and 1 preceding)) as late
        from kept k
        join loci_data.edges e on e.namespace_id = p_namespace_id and e.id = k.edge_id
             and e.id = any(array(select o.edge_id from kept o))
        cross join lateral (
            select k.session_id is null or k.first_of_session and (
                select o.id from loci_data.edge_observations o
                where o.namespace_id = p_namespace_id and o.edge_id = k.edge_id
                  and o.session_id = k.session_id limit 1) is null as fresh
            offset 0) f
        window earlier as (partition by k.edge_id order by k.ordinal)
    ), weighted as (
        select o.*, o.fresh and not o.late as restores,
               exp(sum(case when o.fresh and not o.late then ln(o.n / (o.n + 1)) else 0 end) over earlier) as p
        from observed o window earlier as (partition by o.edge_id order by o.ordinal)
    ), reckoned as materialized (
        select w.*, case
            when not bool_or(w.restores) over earlier then w.old_confidence
            when v_mode = 'full' then 1.0
            when v_mode = 'initial' then w.initial_confidence
            else least(1,
                       w.p * (w.old_confidence + sum(case when w.restores then w.given / (w.n + 1) / w.p else 0 end)
                              over earlier))
            end as new_confidence
        from weighted w window earlier as (partition by w.edge_id order by w.ordinal)
    ), noted as (
        insert into loci_data.edge_observations (namespace_id, id, edge_id, memory_id, session_id, observed_at,
                                                 confidence, restored, recorded_at)
        select p_namespace_id, loci_api.uuid7(), n.* from (
            select k.edge_id, k.memory_id, k.session_id, k.observed_at,
                   case when not r.late then r.new_confidence when not r.fresh then k.given
                        when v_mode = 'full' then 1.0 when v_mode = 'initial' then r.initial_confidence
                            else k.given end,
                   r.fresh, p_at
            from kept k join reckoned r on r.ordinal = k.ordinal order by k.ordinal) n
    ), described as (
        select r.edge_id, jsonb_object_agg(m.key, m.value order by r.ordinal) as metadata
        from reckoned r cross join lateral jsonb_each(r.metadata) m where not r.late group by r.edge_id
    ), outcome as materialized (
        select r.edge_id, r.type, count(*) as times,
               (array_agg(r.new_confidence order by r.ordinal desc))[1] as confidence,
               max(r.observed_at) filter (where r.restores) as restored_at, min(r.observed_at) as first_at,
               min(r.valid_from) as valid_from, max(r.observed_at) filter (where not r.late) as seen_at,
               (array_agg(r.valid_to order by r.ordinal desc)
                filter (where r.valid_to is not null and not r.late))[1] as valid_to,
               (array_agg(r.aspect_id order by r.ordinal desc)
                filter (where r.aspect_id is not null and not r.late))[1] as aspect_id,
               (array_agg(r.strength order by r.ordinal desc)
                filter (where r.strength is not null and not r.late))[1] as strength
        from reckoned r group by r.edge_id, r.type
    ), updated as (
        update loci_data.edges e
        set confidence = o.confidence, strength = coalesce(o.strength, e.strength), aspect_id =
            coalesce(o.aspect_id, e.aspect_id),
            observations = e.observations + o.times,
            first_observed_at = least(e.first_observed_at, o.first_at),
            last_observed_at = greatest(e.last_observed_at, o.restored_at),
            fades_at = case when o.restored_at is null then e.fades_at else loci.fades_at(
                o.confidence, coalesce((v_rates.rates ->> o.type)::double precision, v_rates.rate),
                greatest(e.last_observed_at, o.restored_at),
                v_rates.threshold) end,
            valid_from = least(e.valid_from, o.valid_from, case
                               when o.first_at < e.first_observed_at then o.first_at end),
            -- seen again: true again
            valid_to = coalesce(o.valid_to, case when o.seen_at >= e.valid_to then null else e.valid_to end),
            metadata = e.metadata || coalesce(d.metadata, '{}'), updated_at = greatest(e.updated_at, p_at)
        from outcome o
        left join described d on d.edge_id = o.edge_id
        where e.namespace_id = p_namespace_id and e.id = any(array(select x.edge_id from outcome x))
          and e.id = o.edge_id
    )
    select coalesce(array_agg(r.ordinal) filter (where r.restores), '{}') into v_restored from reckoned r;
    return v_restored;
end $$;
comment on function loci_internal.reinforce_edges(integer, loci_internal.edge_input[], uuid[], timestamptz) is
    'Store observations of known edges as evidence and restore or count; ordinals of those that restored.';
