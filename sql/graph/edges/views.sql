-- Views of edges.

-- Edges that are believed, valid and not faded now. Under the policies: rows of granted namespaces only.
create or replace view loci.edges with (security_invoker = true) as
select n.name as namespace, e.id, s.name as source, e.type, t.name as target, e.literal,
       loci.effective_confidence(e.confidence, r.rate, e.restored_at, statement_timestamp()) as confidence,
       e.confidence as observed_confidence, r.rate as decay_rate, e.strength, e.observations, e.first_observed_at,
       e.last_observed_at, e.restored_at, f.fades_at,
       case when e.spells is null then e.valid_from else lower(w.spell) end as valid_from,
       case when e.spells is null then e.valid_to else upper(w.spell) end as valid_to, e.recorded_at, e.metadata,
       e.source_id, e.target_id, a.name as aspect
from loci_data.edges e
join loci_data.namespaces n on n.id = e.namespace_id
join loci_data.entities s on s.namespace_id = e.namespace_id and s.id = e.source_id
left join loci_data.entities t on t.namespace_id = e.namespace_id and t.id = e.target_id
left join loci_data.aspects a on a.namespace_id = e.namespace_id and a.id = e.aspect_id
left join loci_data.edge_types y on y.namespace_id = e.namespace_id and y.type = e.type
cross join lateral (select coalesce(y.decay_rate, (n.settings ->> 'decay_rate')::double precision,
                                    (loci.default_settings() ->> 'decay_rate')::double precision) as rate) r
cross join lateral (  -- while a change of decay is not through, what is stored is not to be trusted
    select case when e.namespace_id in (select c.namespace_id from loci_data.decay_changes c
                                        where c.finished_at is null)
                then loci.fades_at(e.confidence, r.rate, e.restored_at,
                                   coalesce((n.settings ->> 'edge_threshold')::double precision,
                                            (loci.default_settings() ->> 'edge_threshold')::double precision))
                else e.fades_at end as fades_at) f
left join lateral (  -- of several spells, the one that holds now, or the last that began
    select v as spell from unnest(e.spells) v
    order by lower(v) <= statement_timestamp() desc, case when lower(v) <= statement_timestamp() then lower(v) end desc,
             lower(v) limit 1) w on e.spells is not null
where f.fades_at > statement_timestamp() and loci.holds_at(e, statement_timestamp(), null);
comment on view loci.edges is 'Living edges with the names of their ends and their effective confidence now.';
comment on column loci.edges.namespace is 'Name of the namespace.';
comment on column loci.edges.id is 'Identifier.';
comment on column loci.edges.source is 'Name of the entity it starts from.';
comment on column loci.edges.type is 'The predicate, such as works_on.';
comment on column loci.edges.target is 'Name of the entity it points to; null when the target is a literal.';
comment on column loci.edges.literal is 'A literal target.';
comment on column loci.edges.confidence is 'Effective confidence now, after decay.';
comment on column loci.edges.observed_confidence is 'Confidence at restored_at.';
comment on column loci.edges.decay_rate is 'Rate in force, per day.';
comment on column loci.edges.strength is '0 to 1.';
comment on column loci.edges.observations is 'How often it was observed.';
comment on column loci.edges.first_observed_at is 'When it was first observed.';
comment on column loci.edges.last_observed_at is 'When it was last observed.';
comment on column loci.edges.restored_at is 'When confidence was last set or restored: decay counts from here.';
comment on column loci.edges.fades_at is 'When the effective confidence falls below the threshold.';
comment on column loci.edges.valid_from is
    'Valid time: when the spell of now, or the last one, began; all of them are in loci.edge_spells.';
comment on column loci.edges.valid_to is 'Valid time: when that spell ends; null: still.';
comment on column loci.edges.recorded_at is 'When it was first written.';
comment on column loci.edges.metadata is 'Any JSON object.';
comment on column loci.edges.source_id is 'Identifier of the source. Joins entities.id.';
comment on column loci.edges.target_id is 'Identifier of the target. Joins entities.id.';
comment on column loci.edges.aspect is 'Name of the source''s aspect that motivated it.';

-- Edges that decay has taken out of retrieval. Under the policies: rows of granted namespaces only.
create or replace view loci.faded_edges with (security_invoker = true) as
select n.name as namespace, e.id, s.name as source, e.type, t.name as target, e.literal,
       loci.effective_confidence(e.confidence, r.rate, e.restored_at, statement_timestamp()) as confidence,
       e.confidence as observed_confidence, r.rate as decay_rate, e.strength, e.observations, e.first_observed_at,
       e.last_observed_at, e.restored_at, f.fades_at,
       case when e.spells is null then e.valid_from else lower(w.spell) end as valid_from,
       case when e.spells is null then e.valid_to else upper(w.spell) end as valid_to, e.recorded_at, e.metadata,
       e.source_id, e.target_id, a.name as aspect
from loci_data.edges e
join loci_data.namespaces n on n.id = e.namespace_id
join loci_data.entities s on s.namespace_id = e.namespace_id and s.id = e.source_id
left join loci_data.entities t on t.namespace_id = e.namespace_id and t.id = e.target_id
left join loci_data.aspects a on a.namespace_id = e.namespace_id and a.id = e.aspect_id
left join loci_data.edge_types y on y.namespace_id = e.namespace_id and y.type = e.type
cross join lateral (select coalesce(y.decay_rate, (n.settings ->> 'decay_rate')::double precision,
                                    (loci.default_settings() ->> 'decay_rate')::double precision) as rate) r
cross join lateral (  -- while a change of decay is not through, what is stored is not to be trusted
    select case when e.namespace_id in (select c.namespace_id from loci_data.decay_changes c
                                        where c.finished_at is null)
                then loci.fades_at(e.confidence, r.rate, e.restored_at,
                                   coalesce((n.settings ->> 'edge_threshold')::double precision,
                                            (loci.default_settings() ->> 'edge_threshold')::double precision))
                else e.fades_at end as fades_at) f
left join lateral (  -- of several spells, the one that holds now, or the last that began
    select v as spell from unnest(e.spells) v
    order by lower(v) <= statement_timestamp() desc, case when lower(v) <= statement_timestamp() then lower(v) end desc,
             lower(v) limit 1) w on e.spells is not null
where e.superseded_at is null and f.fades_at <= statement_timestamp()
  and e.valid_to is distinct from e.valid_from;
comment on view loci.faded_edges is
    'Edges whose effective confidence has fallen below the threshold; kept, and left out of retrieval.';
comment on column loci.faded_edges.namespace is 'Name of the namespace.';
comment on column loci.faded_edges.id is 'Identifier.';
comment on column loci.faded_edges.source is 'Name of the entity it starts from.';
comment on column loci.faded_edges.type is 'The predicate, such as works_on.';
comment on column loci.faded_edges.target is 'Name of the entity it points to; null when the target is a literal.';
comment on column loci.faded_edges.literal is 'A literal target.';
comment on column loci.faded_edges.confidence is 'Effective confidence now, after decay.';
comment on column loci.faded_edges.observed_confidence is 'Confidence at restored_at.';
comment on column loci.faded_edges.decay_rate is 'Rate in force, per day.';
comment on column loci.faded_edges.strength is '0 to 1.';
comment on column loci.faded_edges.observations is 'How often it was observed.';
comment on column loci.faded_edges.first_observed_at is 'When it was first observed.';
comment on column loci.faded_edges.last_observed_at is 'When it was last observed.';
comment on column loci.faded_edges.restored_at is 'When confidence was last set or restored: decay counts from here.';
comment on column loci.faded_edges.fades_at is 'When the effective confidence falls below the threshold.';
comment on column loci.faded_edges.valid_from is
    'Valid time: when the spell of now, or the last one, began; all of them are in loci.edge_spells.';
comment on column loci.faded_edges.valid_to is 'Valid time: when that spell ends; null: still.';
comment on column loci.faded_edges.recorded_at is 'When it was first written.';
comment on column loci.faded_edges.metadata is 'Any JSON object.';
comment on column loci.faded_edges.source_id is 'Identifier of the source. Joins entities.id.';
comment on column loci.faded_edges.target_id is 'Identifier of the target. Joins entities.id.';
comment on column loci.faded_edges.aspect is 'Name of the source''s aspect that motivated it.';
