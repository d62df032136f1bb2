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
