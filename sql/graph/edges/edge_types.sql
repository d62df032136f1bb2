-- Types of edges: those that are used, and those that have settings, with how many edges are believed now and how many
-- of them have faded. Under the policies: rows of granted namespaces only.
create or replace view loci.edge_types with (security_invoker = true) as
select n.name as namespace, t.type, r.rate as decay_rate, coalesce(y.single_valued, false) as single_valued,
       y.description, y.updated_at, c.edges, c.faded
from loci_data.namespaces n
cross join lateral (select e.type from loci_data.edges e where e.namespace_id = n.id
                    union select s.type from loci_data.edge_types s where s.namespace_id = n.id) t
left join loci_data.edge_types y on y.namespace_id = n.id and y.type = t.type
cross join lateral (select coalesce(y.decay_rate, (n.settings ->> 'decay_rate')::double precision,
                                    (loci.default_settings() ->> 'decay_rate')::double precision) as rate,
                           coalesce((n.settings ->> 'edge_threshold')::double precision,
                                    (loci.default_settings() ->> 'edge_threshold')::double precision) as threshold) r
cross join lateral (
    select count(*) as edges,
           count(*) filter (where loci.effective_confidence(e.confidence, r.rate, e.restored_at, statement_timestamp())
                            < r.threshold) as faded
    from loci_data.edges e where e.namespace_id = n.id and e.type = t.type and e.superseded_at is null) c;
comment on view loci.edge_types is 'Types of edges with the rate of decay in force and how many edges there are.';
comment on column loci.edge_types.namespace is 'Name of the namespace.';
comment on column loci.edge_types.type is 'The predicate, such as works_on.';
comment on column loci.edge_types.decay_rate is 'Rate in force, per day.';
comment on column loci.edge_types.single_valued is 'Whether a source has at most one target of this type at a time.';
comment on column loci.edge_types.description is 'Meaning of the type.';
comment on column loci.edge_types.updated_at is 'When its settings last changed; null: it has none of its own.';
comment on column loci.edge_types.edges is 'Edges believed, faded ones included.';
comment on column loci.edge_types.faded is 'Edges among these whose confidence has fallen below the threshold.';
