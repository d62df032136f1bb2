-- History of edges: how one was at a moment, and its events.

-- An edge at as_of, as known at known_at, from its evidence and beliefs: for moments that its own row does not
-- answer. p_valid_from, p_valid_to, p_spells: what the row says now. The spell that holds then, else the last that
-- had begun, else the first; holds says which. Confidence rests on the observations of both times, and decay counts
-- from restored_at. Where the first one to speak of that spell comes later, nothing has decayed: confidence is what
-- that one states, or a later correction, and restored_at is null. Two or three index look-ups, about 20 µs. Not
-- inlined on purpose: its plan would be set up anew by every chunk of a traversal.
create or replace function loci_internal.edge_at(
    p_namespace_id integer, p_edge_id uuid, p_valid_from timestamptz, p_valid_to timestamptz, p_spells tstzmultirange,
    p_as_of timestamptz, p_known_at timestamptz, out holds boolean, out valid_from timestamptz,
    out valid_to timestamptz, out confidence double precision, out restored_at timestamptz,
    out first_observed_at timestamptz, out last_observed_at timestamptz, out observations integer)
language plpgsql stable parallel safe
as $$
declare
    v_spell   tstzrange;
    v_figures record;
    v_first   record;  -- the first observation to speak of the spell
begin
    select b.valid_from, b.valid_to, b.spells into p_valid_from, p_valid_to, p_spells
    from loci_internal.edge_validity_at(p_namespace_id, p_edge_id, p_valid_from, p_valid_to, p_spells, p_known_at) b;
    v_spell := loci_internal.spell_around(p_valid_from, p_valid_to, p_spells, p_as_of);
    holds := v_spell @> p_as_of;
    valid_from := lower(v_spell);
    valid_to := upper(v_spell);
    if v_spell = 'empty' then
        valid_from := p_valid_from;
        valid_to := p_valid_to;
    end if;
    v_figures := loci_internal.edge_figures(p_namespace_id, p_edge_id, p_as_of, p_known_at);
    first_observed_at := v_figures.first_observed_at;
    last_observed_at := v_figures.last_observed_at;
    observations := v_figures.observations;
    confidence := v_figures.confidence;
    restored_at := v_figures.restored_at;
    select o.confidence, o.observed_at, s.speaks into v_first
    from loci_data.edge_observations o
    cross join lateral (select loci_internal.speaks_of(o.observed_at, o.valid_from, o.valid_to, v_spell) as speaks) s
    where o.namespace_id = p_namespace_id and o.edge_id = p_edge_id and o.recorded_at <= p_known_at
      and (o.withdrawn is null or not o.withdrawn @> p_known_at) and o.reinforcement <> 'corrected'
    order by s.speaks desc, o.observed_at, o.recorded_at, coalesce(o.origin_id, o.id) limit 1;
    if observations = 0 or holds and v_first.speaks and v_first.observed_at > p_as_of then
        restored_at := null;
        confidence := coalesce((
            select o.confidence from loci_data.edge_observations o
            where o.namespace_id = p_namespace_id and o.edge_id = p_edge_id and o.recorded_at <= p_known_at
              and o.reinforcement = 'corrected' and o.confidence is not null and o.observed_at >= v_first.observed_at
            order by o.observed_at desc, o.recorded_at desc limit 1), v_first.confidence);
    end if;
end $$;
comment on function loci_internal.edge_at(integer, uuid, timestamptz, timestamptz, tstzmultirange, timestamptz,
                                          timestamptz) is
    'An edge at two past moments: spell, whether it holds, confidence and counts, from the evidence.';

-- What was an edge worth at as_of, by what was known at known_at? Null where it did not hold. See edge_at.
create or replace function loci_internal.confidence_at(
    p_namespace_id integer, p_edge_id uuid, p_valid_from timestamptz, p_valid_to timestamptz, p_spells tstzmultirange,
    p_rate double precision, p_as_of timestamptz, p_known_at timestamptz) returns double precision
language plpgsql stable parallel safe
as $$
declare
    v_edge record := loci_internal.edge_at(p_namespace_id, p_edge_id, p_valid_from, p_valid_to, p_spells, p_as_of,
                                           p_known_at);
begin
    return case when v_edge.holds then loci.effective_confidence(v_edge.confidence, p_rate,
                                                                 coalesce(v_edge.restored_at, p_as_of), p_as_of) end;
end $$;
comment on function loci_internal.confidence_at(integer, uuid, timestamptz, timestamptz, tstzmultirange,
                                                double precision, timestamptz, timestamptz) is
    'Effective confidence of an edge at two past moments, from the evidence; null where it did not hold.';

-- In which spells did an edge hold, as believed at a moment? The first belief that ended after it, else what the edge
-- says now (p_valid_from, p_valid_to, p_spells). known_at infinity is the present belief, and reads nothing. Inlines.
-- Primary key of edge_beliefs.
create or replace function loci_internal.edge_validity_at(
    p_namespace_id integer, p_edge_id uuid, p_valid_from timestamptz, p_valid_to timestamptz, p_spells tstzmultirange,
    p_known_at timestamptz)
returns table (valid_from timestamptz, valid_to timestamptz, spells tstzmultirange)
language sql stable parallel safe
as $$
    select coalesce(b.valid_from, p_valid_from), case when b.valid_from is null then p_valid_to else b.valid_to end,
           case when b.valid_from is null then p_spells else b.spells end
    from (select) nothing
    left join lateral (
        select k.valid_from, k.valid_to, k.spells from loci_data.edge_beliefs k
        where p_known_at < 'infinity' and k.namespace_id = p_namespace_id and k.edge_id = p_edge_id
          and k.believed_to > p_known_at
        order by k.believed_to limit 1) b on true
$$;
comment on function loci_internal.edge_validity_at(integer, uuid, timestamptz, timestamptz, tstzmultirange,
                                                   timestamptz) is
    'Spells of an edge as believed at a moment.';

-- Does an edge hold at a moment, by what its row says? Inlines.
create or replace function loci_internal.holds_in(p_valid_from timestamptz, p_valid_to timestamptz,
                                                  p_spells tstzmultirange, p_at timestamptz) returns boolean
language sql immutable parallel safe
as $$
    select loci.holds_at(p_valid_from, p_valid_to, p_spells, null, null, p_at, null)
$$;
comment on function loci_internal.holds_in(timestamptz, timestamptz, tstzmultirange, timestamptz) is
    'Whether a moment is in one of the spells of an edge.';

-- The spells of an edge as one value: those that its row has, or the one. Inlines.
create or replace function loci_internal.spells_of(p_valid_from timestamptz, p_valid_to timestamptz,
                                                   p_spells tstzmultirange) returns tstzmultirange
language sql immutable parallel safe
as $$
    select coalesce(p_spells, tstzmultirange(tstzrange(p_valid_from, p_valid_to)))
$$;
comment on function loci_internal.spells_of(timestamptz, timestamptz, tstzmultirange) is
    'All spells of an edge.';

-- The spell of an edge that holds at a moment; else the last that had begun, else the first; empty where it never held.
create or replace function loci_internal.spell_around(p_valid_from timestamptz, p_valid_to timestamptz,
                                                      p_spells tstzmultirange, p_at timestamptz) returns tstzrange
language sql immutable parallel safe
as $$
    select case when p_spells is null then tstzrange(p_valid_from, p_valid_to) else (
        select r from unnest(p_spells) r
        order by lower(r) <= p_at desc, case when lower(r) <= p_at then lower(r) end desc, lower(r) limit 1) end
$$;
comment on function loci_internal.spell_around(timestamptz, timestamptz, tstzmultirange, timestamptz) is
    'The spell of an edge at a moment, or the one before it, or the first.';

-- Does an observation speak of a spell? What it states to hold, or the moment from which it says so, touches it.
-- Inlines.
create or replace function loci_internal.speaks_of(p_observed_at timestamptz, p_valid_from timestamptz,
                                                   p_valid_to timestamptz, p_spell tstzrange) returns boolean
language sql immutable parallel safe
as $$
    select tstzrange(coalesce(p_valid_from, least(p_observed_at, p_valid_to)),
                     coalesce(p_valid_to, p_valid_from, p_observed_at), '[]')
           && tstzrange(lower(p_spell), upper(p_spell), '[]')
$$;
comment on function loci_internal.speaks_of(timestamptz, timestamptz, timestamptz, tstzrange) is
    'Whether an observation speaks of a spell.';

-- What happened to the edges at an entity, and when? Each observation and correction, but for those of forgotten
-- memories; the end of each spell; its being taken back. detail names both ends. p_known_at: as recorded by then
-- (null: now); the caller leaves out events of later. Indexes edges_source, edges_target, edge_observations_edge.
create or replace function loci_internal.edge_events(p_namespace_id integer, p_entity_id uuid,
                                                     p_known_at timestamptz default null)
returns table (at timestamptz, recorded_at timestamptz, kind text, event text, id uuid, key text, detail jsonb)
language sql stable parallel safe
as $$
    with near as (
        select e.* from loci_data.edges e where e.namespace_id = p_namespace_id and e.source_id = p_entity_id
        union all
        select e.* from loci_data.edges e where e.namespace_id = p_namespace_id and e.target_id = p_entity_id
            and e.source_id <> p_entity_id
    ), named as materialized (  -- an edge that was recorded anew answers by the new one
        select n.*,
               jsonb_strip_nulls(jsonb_build_object('source', s.name, 'type', n.type, 'target', t.name,
                                                    'literal', n.literal,
                                                         'source_id', n.source_id, 'target_id', n.target_id)) as ends
        from near n
        join loci_data.entities s on s.namespace_id = p_namespace_id and s.id = n.source_id
        left join loci_data.entities t on t.namespace_id = p_namespace_id and t.id = n.target_id
        where (p_known_at is null or n.recorded_at <= p_known_at)
          and (n.superseded_at > p_known_at
               or not exists (select from loci_data.edge_moves m
                              where m.namespace_id = p_namespace_id and m.old_id = n.id))
    ), shown as (  -- a copy of what another edge here has already is no event
        select distinct on (coalesce(o.origin_id, o.id)) o.*, n.ends,
               v.fresh and o.reinforcement <> 'corrected' as fresh
        from named n
        cross join lateral loci_internal.edge_evidence(p_namespace_id, n.id, 'infinity',
                                                       coalesce(p_known_at, 'infinity')) v
        join loci_data.edge_observations o on o.namespace_id = p_namespace_id and o.id = v.id
        order by coalesce(o.origin_id, o.id), n.recorded_at, n.id
    )
    select o.observed_at, o.recorded_at, 'edge',
           case o.reinforcement when 'corrected' then 'corrected' else 'observed' end, o.edge_id, o.id::text,
           o.ends || jsonb_build_object('confidence', o.confidence, 'restored', o.fresh, 'session_id', o.session_id,
                                        'memory_id', o.memory_id)
    from shown o
    union all
    select upper(w.spell),
           coalesce((select max(b.believed_to) from loci_data.edge_beliefs b where b.namespace_id = p_namespace_id
                     and b.edge_id = n.id and (p_known_at is null or b.believed_to <= p_known_at)),
                                n.recorded_at), 'edge', 'ended', n.id, n.id || ' ' || lower(w.spell), n.ends
    from named n
    cross join lateral loci_internal.edge_validity_at(p_namespace_id, n.id, n.valid_from, n.valid_to, n.spells,
                                                      coalesce(p_known_at, 'infinity')) v
    cross join lateral unnest(loci_internal.spells_of(v.valid_from, v.valid_to, v.spells)) w(spell)
    where upper(w.spell) is not null
    union all
    select n.superseded_at, n.superseded_at, 'edge', 'deleted', n.id, n.id::text, n.ends from named n
    where n.superseded_at is not null
$$;
comment on function loci_internal.edge_events(integer, uuid, timestamptz) is
    'Observations and ends of the edges at an entity as dated events, with names.';
