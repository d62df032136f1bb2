-- Spells: spans in which an edge holds, from its evidence.

-- When do edges hold, by what their observations say? p_ids: one edge, or all of a source and type that has one target
-- at a time. Those of memories that were forgotten at p_known_at (infinity: now), or recorded after it, say nothing.
-- The others speak in the order in which they were made (then of recording), and what was said later overrides what was
-- said before:
--   it begins at valid_from, else when it was observed
--   it lasts until valid_to, which also ends the spell that goes on there; where no end is stated, as long as the spell
--   that it was observed in, else until the next one begins, else on
--   of several edges, what it gains another loses, and it lasts no longer than until the next spell of another that
--   begins after it: as versions of a lineage. An interlude with an end gives way to what went on before
--   what a memory says it says of the time until that memory ends, and no longer: a version of a lineage until the next
--   one begins (evidence_span). What somebody else said in the meantime goes on
--   a correction stands for its spell (corrects, which lasts until the next spell begins), whatever was said of that
--   before: what was said earlier speaks of what is outside it. No memory says it, so what it states holds whenever
--   memories end; where it states no end (keeps_end), its spell ends and pauses with those that speak of it. Where
--   nobody has spoken of its spell, or nobody does so any more, it says nothing
-- p_older, p_newer: pairs that hold beside each other (an undone supersession): neither cuts the other. An end alone,
-- before it was observed, begins nothing. spells, in the order of p_ids, with the first beginning that was said
-- (starts); older, newer, ended_at: which edge ended which, and when in valid time. Index edge_observations_edge; about
-- 10 µs for an observation that changes something, times the edges.
create or replace function loci_internal.fold_spells(
    p_namespace_id integer, p_ids uuid[], p_older uuid[], p_newer uuid[],
    p_known_at timestamptz default 'infinity', out spells tstzmultirange[], out starts timestamptz[],
    out older uuid[], out newer uuid[], out ended_at timestamptz[])
language plpgsql stable parallel safe set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_one   record;
    v_own   tstzmultirange;
    v_from  timestamptz;
    v_to    timestamptz;
    v_seen  timestamptz;  -- until when it is sure
    v_next  timestamptz;  -- when the next spell of another begins
    v_place integer;      -- of that other
    v_gain  tstzmultirange;
    v_told  tstzmultirange[] := array_fill('{}'::tstzmultirange, array[cardinality(p_ids)]);  -- as if no memory ended
    v_wrong tstzmultirange[] := v_told;  -- what is said, as long as memories say it, of spells that are corrected later
    v_shown tstzmultirange;              -- of that, what is corrected here
begin
    spells := v_told;
    starts := array_fill(null::timestamptz, array[cardinality(p_ids)]);
    older := '{}';
    newer := '{}';
    ended_at := '{}';
    for v_one in
        select u.place, o.observed_at, o.valid_from, o.valid_to, o.corrects, o.keeps_end,
               o.reinforcement = 'corrected' as corrected,
               range_agg(o.corrects) over (partition by o.edge_id
                                           order by o.observed_at, o.recorded_at, coalesce(o.origin_id, o.id)
                                           rows between 1 following and unbounded following) as corrected_later,
               case when o.memory_id is not null then
               loci_internal.evidence_span(p_namespace_id, o.memory_id, o.carried_by, p_known_at) end as span
        from unnest(p_ids) with ordinality u(id, place)
        cross join lateral (select v.* from loci_data.edge_observations v
                            where v.namespace_id = p_namespace_id and v.edge_id = u.id offset 0) o
        where o.recorded_at <= p_known_at and (o.withdrawn is null or not o.withdrawn @> p_known_at)
        order by o.observed_at, o.recorded_at, coalesce(o.origin_id, o.id), o.edge_id
    loop
        v_own := v_told[v_one.place];
        v_shown := v_wrong[v_one.place] * tstzmultirange(v_one.corrects);
        continue when v_one.corrected and coalesce(isempty(v_shown), true);
        if v_one.keeps_end then
            v_one.valid_to := upper(v_shown);
            v_one.span := '{(,)}'::tstzmultirange - (tstzmultirange(range_merge(v_shown)) - v_shown);
        end if;
        continue when v_one.valid_from is null and v_one.valid_to is null and v_own @> v_one.observed_at
            and spells[v_one.place] = v_own;
        v_from := coalesce(v_one.valid_from, case when v_one.valid_to <= v_one.observed_at then null
                           else v_one.observed_at end);
        starts[v_one.place] := least(starts[v_one.place], coalesce(v_from, v_one.valid_to));
        if v_from is null or v_one.valid_to > v_from then  -- what is never true ends nothing
            v_gain := (select coalesce(range_agg(tstzrange(v_one.valid_to, upper(r))), '{}') from unnest(v_own) r
                       where r @> v_one.valid_to and lower(r) < v_one.valid_to);
            v_own := v_own - v_gain;
            v_told[v_one.place] := v_own;
            spells[v_one.place] := spells[v_one.place] - v_gain;
        end if;
        continue when v_from is null or v_one.valid_to <= v_from;

        v_next := null;
        if cardinality(p_ids) > 1 then
            select lower(r), s.place into v_next, v_place
            from unnest(spells) with ordinality s(spells, place) cross join lateral unnest(s.spells) r
            where s.place <> v_one.place and lower(r) > v_from
              and not loci_internal.are_beside(p_older, p_newer, p_ids[v_one.place], p_ids[s.place])
            order by lower(r), s.place limit 1;
        end if;
        v_seen := greatest(v_from, v_one.observed_at);
        v_to := coalesce(v_one.valid_to, (
            select case when r @> v_seen then upper(r) else lower(r) end from unnest(v_own) r
            where upper(r) is null or upper(r) > v_seen order by lower(r) limit 1));
        if v_one.corrected_later is not null then
            v_wrong[v_one.place] := v_wrong[v_one.place] + coalesce(v_one.span, '{(,)}') * v_one.corrected_later
                                    * tstzmultirange(tstzrange(v_from, v_to));
        end if;
        if v_next < coalesce(v_to, 'infinity') or v_next = v_to and v_one.valid_to is null then
            v_to := v_next;
            if v_one.corrected_later @> tstzrange(v_from, v_next) is not true then
                older := older || p_ids[v_one.place];
                newer := newer || p_ids[v_place];
                ended_at := ended_at || v_next;
            end if;
        end if;
        v_gain := tstzmultirange(tstzrange(v_from, v_to)) - coalesce(v_one.corrected_later, '{}');
        v_told[v_one.place] := v_own + v_gain;
        v_gain := coalesce(v_one.span, '{(,)}') * v_gain - spells[v_one.place];
        spells[v_one.place] := spells[v_one.place] + v_gain;
        for v_other in 1 .. cardinality(p_ids) loop
            continue when v_other = v_one.place or not spells[v_other] && v_gain
                or loci_internal.are_beside(p_older, p_newer, p_ids[v_other], p_ids[v_one.place]);
            select older || array_agg(p_ids[v_other]), newer || array_agg(p_ids[v_one.place]),
                   ended_at || array_agg(lower(r)) into older, newer, ended_at
            from unnest(spells[v_other] * v_gain) r;
            spells[v_other] := spells[v_other] - v_gain;
            v_told[v_other] := v_told[v_other] - v_gain;
        end loop;
    end loop;
    -- what is so in the end
    select coalesce(array_agg(d.older), '{}'), coalesce(array_agg(d.newer), '{}'), coalesce(array_agg(d.ended_at), '{}')
    into older, newer, ended_at
    from (select distinct u.* from unnest(older, newer, ended_at) u(older, newer, ended_at)
          where not spells[array_position(p_ids, u.older)] @> u.ended_at
            and spells[array_position(p_ids, u.newer)] @> u.ended_at order by 3, 1, 2) d;
end $$;
comment on function loci_internal.fold_spells(integer, uuid[], uuid[], uuid[], timestamptz) is
    'The spells of edges, from their observations, and which of them ended which.';

-- Is this pair among those that hold beside each other, whichever came first? Inlines.
create or replace function loci_internal.are_beside(p_older uuid[], p_newer uuid[], p_one uuid, p_other uuid)
returns boolean
language sql immutable parallel safe
as $$
    select p_older <> '{}' and exists (select from unnest(p_older, p_newer) b(older, newer)
                                       where (b.older, b.newer) in ((p_one, p_other), (p_other, p_one)))
$$;
comment on function loci_internal.are_beside(uuid[], uuid[], uuid, uuid) is
    'Whether two edges hold beside each other.';

-- The spells in which edges hold, with when each was believed: those believed now, and those of before. Under the
-- policies: rows of granted namespaces only.
create or replace view loci.edge_spells with (security_invoker = true) as
select n.name as namespace, e.id as edge_id, s.name as source, e.type, t.name as target, e.literal, p.valid_from,
       p.valid_to, p.recorded_at, p.superseded_at, e.source_id, e.target_id
from loci_data.edges e
join loci_data.namespaces n on n.id = e.namespace_id
join loci_data.entities s on s.namespace_id = e.namespace_id and s.id = e.source_id
left join loci_data.entities t on t.namespace_id = e.namespace_id and t.id = e.target_id
cross join lateral (  -- beliefs that follow each other with the same spell in them are one row
    select g.valid_from, g.valid_to, min(g.believed_at) as recorded_at,
           case when not bool_or(g.believed_to is null) then max(g.believed_to) end as superseded_at
    from (
        select w.*, count(*) filter (where w.begins) over (
                   partition by w.valid_from, w.valid_to order by w.believed_at) as run
        from (
            select lower(r) as valid_from, upper(r) as valid_to, b.believed_at, b.believed_to,
                   b.believed_at is distinct from lag(b.believed_to) over (partition by r order by b.believed_at)
                       as begins
            from (
                select coalesce(e.spells, tstzmultirange(tstzrange(e.valid_from, e.valid_to))),
                       coalesce((select max(k.believed_to) from loci_data.edge_beliefs k
                                 where k.namespace_id = e.namespace_id and k.edge_id = e.id), e.recorded_at),
                       e.superseded_at
                union all
                select coalesce(k.spells, tstzmultirange(tstzrange(k.valid_from, k.valid_to))), k.believed_at,
                       k.believed_to
                from loci_data.edge_beliefs k where k.namespace_id = e.namespace_id and k.edge_id = e.id
            ) b(spells, believed_at, believed_to) cross join lateral unnest(b.spells) r) w) g
    group by g.valid_from, g.valid_to, g.run) p;
comment on view loci.edge_spells is
    'When edges hold: their spells in valid time, each with when it was believed; those believed no longer, too.';
comment on column loci.edge_spells.namespace is 'Name of the namespace.';
comment on column loci.edge_spells.edge_id is 'Identifier of the edge. Joins edges.id.';
comment on column loci.edge_spells.source is 'Name of the entity it starts from.';
comment on column loci.edge_spells.type is 'The predicate, such as works_on.';
comment on column loci.edge_spells.target is 'Name of the entity it points to; null when the target is a literal.';
comment on column loci.edge_spells.literal is 'A literal target.';
comment on column loci.edge_spells.valid_from is 'Valid time: from when the edge holds.';
comment on column loci.edge_spells.valid_to is 'Valid time: until when (exclusive); null: still.';
comment on column loci.edge_spells.recorded_at is 'Recorded time: since when this spell is believed.';
comment on column loci.edge_spells.superseded_at is 'Recorded time: until when it was believed; null: it is.';
comment on column loci.edge_spells.source_id is 'Identifier of the source. Joins entities.id.';
comment on column loci.edge_spells.target_id is 'Identifier of the target. Joins entities.id.';
