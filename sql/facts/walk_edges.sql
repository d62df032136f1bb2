-- Where does a walk go from its focal entities? The far ends of their strongest living outgoing edges: at
-- most settings walk_edges of all of them together, of at least walk_min_strength; never back to a focal entity.
-- Living: valid and not faded at p_as_of, as known at p_known_at, see adjacent_edges. share: the strength of
-- the strongest edge that leads there. 32 entities a statement; past p_deadline every row passes, and so ends the
-- search for a living one. late, on every row, and a row without an id where there is no other, says so. Index
-- edges_strength.
create or replace function loci_internal.walk_edges(
    p_namespace_id integer, p_ids uuid[], p_as_of timestamptz, p_known_at timestamptz, p_deadline timestamptz)
returns table (id uuid, share double precision, late boolean)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_settings  jsonb := loci_internal.settings(p_namespace_id);
    v_rate      double precision := v_settings ->> 'decay_rate';
    v_threshold double precision := v_settings ->> 'edge_threshold';
    v_edges     integer := v_settings ->> 'walk_edges';
    v_least     double precision := v_settings ->> 'walk_min_strength';
    v_rates     jsonb := (select jsonb_object_agg(t.type, t.decay_rate) from loci_data.edge_types t
                          where t.namespace_id = p_namespace_id and t.decay_rate is not null);
    v_trusted   boolean := not loci_internal.is_decaying(p_namespace_id);
    v_targets   uuid[] := '{}';  -- of the strongest edges so far
    v_strengths double precision[] := '{}';
    v_late      boolean := false;
begin
    for v_done in 0 .. cardinality(p_ids) - 1 by 32 loop
        with followed as materialized (
            select e.* from unnest(p_ids[v_done + 1 : v_done + 32]) f(id)
            cross join lateral (
                select e.id, e.target_id, e.strength, l.living from loci_data.edges e
                cross join lateral (select coalesce(
                    e.recorded_at <= p_known_at and (e.superseded_at is null or e.superseded_at > p_known_at)
                    and (e.updated_at > p_known_at
                         or loci_internal.holds_in(e.valid_from, e.valid_to, e.spells, p_as_of))
                    and case when e.last_observed_at <= p_as_of and e.updated_at <= p_known_at
                        then case when v_trusted then e.fades_at > p_as_of else loci.effective_confidence(
                                 e.confidence, coalesce((v_rates ->> e.type)::double precision, v_rate),
                                 e.restored_at, p_as_of) >= v_threshold end
                        else loci_internal.confidence_at(p_namespace_id, e.id, e.valid_from, e.valid_to, e.spells,
                                             coalesce((v_rates ->> e.type)::double precision, v_rate), p_as_of,
                                             p_known_at) >= v_threshold end,
                    false) as living offset 0) l
                where e.namespace_id = p_namespace_id and e.source_id = f.id and e.target_id is not null
                  and e.strength >= v_least
                  and (l.living and e.target_id not in (select unnest(p_ids)) or clock_timestamp() > p_deadline)
                order by e.strength desc, e.id desc limit v_edges) e
        ), best as (
            select b.* from (select e.id, e.target_id, e.strength from followed e
                             where e.living and e.target_id not in (select unnest(p_ids))
                             union all select null, u.* from unnest(v_targets, v_strengths) u) b
            order by b.strength desc, b.id desc nulls first limit v_edges
        )
        select coalesce(array_agg(b.target_id order by b.strength desc, b.id desc nulls first), '{}'),
               coalesce(array_agg(b.strength order by b.strength desc, b.id desc nulls first), '{}')
        into v_targets, v_strengths from best b;
        if cardinality(v_strengths) >= v_edges then
            v_least := v_strengths[v_edges];  -- what is weaker is not read any more
        end if;
        v_late := clock_timestamp() > p_deadline;
        exit when v_late;
    end loop;
    return query
    select u.id, max(u.share), v_late from unnest(v_targets, v_strengths) u(id, share) group by u.id order by 2 desc, 1;
    if not found and v_late then
        return query select null::uuid, null::double precision, true;
    end if;
end $$;
comment on function loci_internal.walk_edges(integer, uuid[], timestamptz, timestamptz, timestamptz) is
    'Far ends of the strongest living outgoing edges of entities.';
