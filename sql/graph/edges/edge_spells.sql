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
