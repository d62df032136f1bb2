-- Edges computed anew from their evidence.

-- Bring edges in step with their evidence: figures and spells as edge_figures and fold_spells have them. All believed
-- edges of a source are folded together where the type has one target at a time, so p_ids may hold edges that are gone
-- or no longer believed. Edges whose evidence is all withdrawn hold at no moment; those that never had any stay as they
-- are. The caller holds the locks of the sources; edges are locked here, in order of id. Returns the supersessions that
-- came of it. Cost follows the evidence of the edges.
create or replace function loci_internal.refold_edges(p_namespace_id integer, p_ids uuid[], p_at timestamptz)
returns uuid[]
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_single text[] := array(select t.type from loci_data.edge_types t where t.namespace_id = p_namespace_id
                             and t.single_valued);
    v_ids    uuid[] := array(select e.id from loci_data.edges e where e.namespace_id = p_namespace_id
                             and e.id = any (p_ids) and e.superseded_at is null and e.type <> all (v_single)
                             order by e.id);
    v_fold   record;
    v_made   uuid[] := '{}';
begin
    if v_ids <> '{}' then
        perform from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any (v_ids) order by e.id
            for no key update;
        select array_agg(f.starts[1] order by u.place) as starts, array_agg(f.spells[1] order by u.place) as spells
        into v_fold
        from unnest(v_ids) with ordinality u(id, place)
        cross join lateral loci_internal.fold_spells(p_namespace_id, array[u.id], '{}', '{}') f;
        perform loci_internal.store_folded_edges(p_namespace_id, v_ids, v_fold.starts, v_fold.spells, p_at);
    end if;
    if v_single <> '{}' then
        for v_ids in select loci_internal.rival_edges(p_namespace_id, g.source_id, g.type)
                     from (select distinct e.source_id, e.type from loci_data.edges e
                           where e.namespace_id = p_namespace_id and e.id = any (p_ids) and e.type = any (v_single)) g
                     order by g.source_id, g.type loop
            v_made := v_made || loci_internal.refold_rivals(p_namespace_id, v_ids, p_at);
        end loop;
    end if;
    return v_made;
end $$;
comment on function loci_internal.refold_edges(integer, uuid[], timestamptz) is
    'Bring figures and spells of edges, and of their rivals, in step with the evidence; supersessions that came of it.';

-- Believed edges of a source and type, in order of id. Indexes edges_triple, edges_literal.
create or replace function loci_internal.rival_edges(p_namespace_id integer, p_source_id uuid, p_type text)
returns uuid[]
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select coalesce(array_agg(e.id order by e.id), '{}') from (
        select i.id from loci_data.edges i where i.namespace_id = p_namespace_id and i.source_id = p_source_id
            and i.type = p_type and i.target_id is not null and i.superseded_at is null
        union all
        select i.id from loci_data.edges i where i.namespace_id = p_namespace_id and i.source_id = p_source_id
            and i.type = p_type and i.literal is not null and i.superseded_at is null) e
$$;
comment on function loci_internal.rival_edges(integer, uuid, text) is
    'Ids of the believed edges of a source and type.';

-- Bring edges that are rivals, because their type has one target at a time, in step with the evidence of all of them.
-- Returns the supersessions that came of it.
create or replace function loci_internal.refold_rivals(p_namespace_id integer, p_ids uuid[], p_at timestamptz)
returns uuid[]
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_beside record;
    v_fold   record;
begin
    perform from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any (p_ids) order by e.id
        for no key update;
    select coalesce(array_agg(b.older_id), '{}') as older, coalesce(array_agg(b.newer_id), '{}') as newer into v_beside
    from loci_internal.edges_beside(p_namespace_id, p_ids) b;
    v_fold := loci_internal.fold_spells(p_namespace_id, p_ids, v_beside.older, v_beside.newer);
    perform loci_internal.store_folded_edges(p_namespace_id, p_ids, v_fold.starts, v_fold.spells, p_at);
    return loci_internal.record_edge_supersessions(p_namespace_id, p_ids, v_fold.older, v_fold.newer, v_fold.ended_at,
                                                   p_at);
end $$;
comment on function loci_internal.refold_rivals(integer, uuid[], timestamptz) is
    'Bring edges of a type with one target at a time in step with their evidence; supersessions that came of it.';

-- Store what the evidence of edges adds up to: their spells (p_starts: where there is none, when it would have begun;
-- null: no evidence; if it was withdrawn, the edge holds at no moment), and their figures. Only rows that change.
create or replace function loci_internal.store_folded_edges(
    p_namespace_id integer, p_ids uuid[], p_starts timestamptz[], p_spells tstzmultirange[], p_at timestamptz)
returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_nestloop = off
set enable_seqscan = off
as $$
declare
    v_rates record := loci_internal.lock_decay_rates(p_namespace_id);
begin
    with folded as materialized (
        select u.id, f.*, coalesce(lower(u.spells), u.starts) as valid_from,
               case when isempty(u.spells) then u.starts else upper(u.spells) end as valid_to,
               case when u.spells <> tstzmultirange(range_merge(u.spells)) then u.spells end as spells
        from unnest(p_ids, p_starts, p_spells) u(id, starts, spells)
        cross join lateral loci_internal.edge_figures(p_namespace_id, u.id, 'infinity', 'infinity') f
        where u.starts is not null
    )
    update loci_data.edges e
    set confidence = f.confidence, initial_confidence = f.initial_confidence, observations = f.observations,
        first_observed_at = f.first_observed_at, last_observed_at = f.last_observed_at, restored_at = f.restored_at,
        fades_at = loci.fades_at(f.confidence, coalesce((v_rates.rates ->> e.type)::double precision, v_rates.rate),
                                 f.restored_at, v_rates.threshold),
        valid_from = f.valid_from, valid_to = f.valid_to, spells = f.spells, updated_at = greatest(e.updated_at, p_at)
    from folded f
    where e.namespace_id = p_namespace_id and e.id = any (p_ids) and e.id = f.id
      and (e.confidence, e.initial_confidence, e.observations, e.first_observed_at, e.last_observed_at, e.restored_at,
           e.valid_from, e.valid_to, e.spells)
          is distinct from (f.confidence, f.initial_confidence, f.observations, f.first_observed_at, f.last_observed_at,
                            f.restored_at, f.valid_from, f.valid_to, f.spells);
    update loci_data.edges e set valid_to = e.valid_from, spells = null, updated_at = greatest(e.updated_at, p_at)
    from unnest(p_ids, p_starts) u(id, starts)
    where e.namespace_id = p_namespace_id and e.id = any (p_ids) and e.id = u.id and u.starts is null
      and (e.valid_to is distinct from e.valid_from or e.spells is not null)
      and exists (select from loci_data.edge_observations o where o.namespace_id = p_namespace_id
                  and o.edge_id = u.id offset 0);
end $$;
comment on function loci_internal.store_folded_edges(integer, uuid[], timestamptz[], tstzmultirange[], timestamptz) is
    'Store spells and figures of edges as their evidence has them.';

-- Second half of writing edges: the observations of known edges become evidence, and what they do to the edges. An
-- edge that was observed once in this write, later than ever before and while it holds, with no times stated, moves
-- on from where it stood: an observation that is new to it (a session never seen on this edge; or none, and another
-- day than the last) sets confidence by the setting reinforcement, and decay counts from there; another only counts.
-- All others, and those of types with one target at a time (p_single), are left to refold_edges: the same rule over
-- all evidence. The newest word on strength, aspect and metadata counts, unless it is older than the edge's last
-- observation. An observation by a memory that said so before changes nothing. p_ids: edges, by the ordinal of
-- items; insert_edges has locked or made them. Returns the ordinals of the items that restored, and the edges that
-- are left. Uses edge_observations_edge and edge_observations_memory.
create or replace function loci_internal.reinforce_edges(p_namespace_id integer, p_items loci_internal.edge_input[],
                                                         p_ids uuid[], p_single text[], p_at timestamptz,
                                                         out restored integer[], out others uuid[])
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan
-- where there is a choice: the size of a batch is unknown to the planner
set enable_nestloop = off set enable_seqscan = off
as $$
declare
    v_rates record := loci_internal.lock_decay_rates(p_namespace_id);
begin
    with item as materialized (
        select i.*, coalesce(i.confidence, 1.0) as given, p_ids[i.ordinal] as edge_id,
               row_number() over (partition by p_ids[i.ordinal], i.memory_id order by i.ordinal) > 1
                   and i.memory_id is not null as repeated
        from unnest(p_items) i
    ), kept as materialized (
        select i.* from item i
        where not i.repeated and (i.memory_id is null or (
            select o.id from loci_data.edge_observations o  -- not `exists`: it might be hashed, and read all evidence
            where o.namespace_id = p_namespace_id and o.memory_id = i.memory_id and o.edge_id = i.edge_id) is null)
    ), noted as (
        insert into loci_data.edge_observations (namespace_id, id, edge_id, memory_id, session_id, observed_at,
                                                 valid_from, valid_to, confidence, reinforcement, recorded_at, by_day)
        select p_namespace_id, k.id, k.edge_id, k.memory_id, k.session_id, k.observed_at, k.valid_from, k.valid_to,
               k.given, v_rates.reinforcement, p_at, true
        from kept k order by k.ordinal
    ), placed as materialized (
        select k.*, k.observed_at < e.last_observed_at as late,
               loci_internal.day_of(k.observed_at) > loci_internal.day_of(e.last_observed_at) as later_day,
               case v_rates.reinforcement when 'full' then 1 when 'initial' then e.initial_confidence
                   else (e.confidence * e.observations + k.given) / (e.observations + 1) end as confident,
               k.type <> all (p_single) and count(*) over (partition by k.edge_id) = 1
                   and num_nulls(k.valid_from, k.valid_to) = 2 and k.observed_at > e.last_observed_at
                   and e.valid_from <= k.observed_at and num_nonnulls(e.valid_to, e.spells) = 0 as plain
        from kept k
        join loci_data.edges e on e.namespace_id = p_namespace_id and e.id = k.edge_id
             and e.id = any (array(select x.edge_id from kept x))
    ), known as (
        select p.*, p.plain and f.fresh as fresh from placed p
        cross join lateral (
            select case when p.session_id is null then p.later_day else (
                select o.id from loci_data.edge_observations o
                where o.namespace_id = p_namespace_id and o.edge_id = p.edge_id
                  and o.session_id = p.session_id and upper_inf(o.withdrawn) is not true limit 1) is null end as fresh
            offset 0) f
    ), described as (
        select p.edge_id, jsonb_object_agg(m.key, m.value order by p.observed_at, p.ordinal) as metadata
        from placed p cross join lateral jsonb_each(p.metadata) m where not p.late group by p.edge_id
    ), outcome as materialized (
        select k.edge_id, k.type, bool_and(k.plain) as plain, bool_or(k.fresh) as fresh, min(k.ordinal) as ordinal,
               max(k.observed_at) as seen_at, max(k.confident) as confident,
               (array_agg(k.aspect_id order by k.observed_at desc, k.ordinal desc)
                filter (where k.aspect_id is not null and not k.late))[1] as aspect_id,
               (array_agg(k.strength order by k.observed_at desc, k.ordinal desc)
                filter (where k.strength is not null and not k.late))[1] as strength
        from known k group by k.edge_id, k.type
    ), updated as (
        update loci_data.edges e
        set confidence = case when o.fresh then o.confident else e.confidence end,
            strength = coalesce(o.strength, e.strength),
            aspect_id = coalesce(o.aspect_id, e.aspect_id), observations = e.observations + o.plain::integer,
            last_observed_at = case when o.plain then o.seen_at else e.last_observed_at end,
            restored_at = case when o.fresh then o.seen_at else e.restored_at end,
            fades_at = case when o.fresh then loci.fades_at(
                o.confident, coalesce((v_rates.rates ->> o.type)::double precision, v_rates.rate), o.seen_at,
                v_rates.threshold) else e.fades_at end,
            metadata = e.metadata || coalesce(d.metadata, '{}'), updated_at = greatest(e.updated_at, p_at)
        from outcome o
        left join described d on d.edge_id = o.edge_id
        where e.namespace_id = p_namespace_id and e.id = any (array(select x.edge_id from outcome x))
          and e.id = o.edge_id
    )
    select coalesce(array_agg(o.ordinal) filter (where o.fresh), '{}'),
           coalesce(array_agg(o.edge_id) filter (where not o.plain), '{}')
    into restored, others
    from outcome o;
end $$;
comment on function loci_internal.reinforce_edges(integer, loci_internal.edge_input[], uuid[], text[], timestamptz) is
    'Store observations of known edges as evidence and restore or count; ordinals of those that restored, and edges '
    'that have to be folded anew.';
