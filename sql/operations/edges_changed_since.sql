-- Which edges of an operation were changed by others since? Edges count whose strength, aspect or metadata are neither
-- as it left them nor as it found them; one that it took back and that has been observed anew, or that has lost an
-- end, an entity that was removed since. Confidence, counts and spells follow the evidence, each observation of which
-- knows its operation: others may have observed the same edge since, that is no conflict.
create or replace function loci_internal.edges_changed_since(p_namespace_id integer, p_operation uuid)
returns setof uuid
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with net as materialized (
        select n.*, e as edge from loci_internal.net_changes(p_namespace_id, p_operation, 'edge') n
        cross join lateral (select x.* from loci_data.edges x where x.namespace_id = p_namespace_id
                            and x.id = n.subject_id limit 1) e
        where n.after is not null
    ), made as materialized (
        select loci_internal.current_edge_id(p_namespace_id, n.subject_id) as id from net n where n.created
    )
    select n.subject_id
    from net n
    cross join lateral (select e as edge from loci_data.edges e
                        where e.namespace_id = p_namespace_id
                          and e.id = loci_internal.current_edge_id(p_namespace_id, n.subject_id) offset 0) p
    cross join lateral jsonb_populate_record(p.edge, n.after - '{superseded_at,valid_from,valid_to,spells}'::text[]) a
    cross join lateral jsonb_populate_record(p.edge, n.before - '{superseded_at,valid_from,valid_to,spells}'::text[]) b
    where not n.created
      and (a.strength, a.aspect_id, a.metadata) is distinct from
          ((p.edge).strength, (p.edge).aspect_id, (p.edge).metadata)
      and (b.strength, b.aspect_id, b.metadata) is distinct from
          ((p.edge).strength, (p.edge).aspect_id, (p.edge).metadata)
    union
    select n.subject_id
    from net n
    cross join lateral (select loci_internal.find_edge_id(p_namespace_id,
                                                          loci_internal.surviving_entity_id(p_namespace_id,
                                                              (n.edge).source_id), (n.edge).type,
                                            loci_internal.surviving_entity_id(p_namespace_id, (n.edge).target_id),
                                            (n.edge).literal) as id offset 0) t
    where not n.created and n.after ->> 'superseded_at' is not null and t.id is not null
      and t.id not in (select m.id from made m where m.id is not null)
    union
    select n.subject_id
    from net n
    cross join lateral (values ((n.edge).source_id), ((n.edge).target_id)) x(end_id)
    where not n.created and n.after ->> 'superseded_at' is not null
      and loci_internal.surviving_entity_id(p_namespace_id, x.end_id) is null and x.end_id is not null
      and x.end_id not in (select e.subject_id from loci_internal.net_changes(p_namespace_id, p_operation, 'entity') e
                           where (e.after ->> 'merged_into')::uuid = e.subject_id)
$$;
comment on function loci_internal.edges_changed_since(integer, uuid) is
    'Edges of an operation that were changed since.';
