-- What was changed since an operation, which an undo leaves alone.

-- What of an operation was changed again since, and by which operation? One row a thing; undoing it would take the
-- later change back too. The later operation is the last that changed the thing; null where that is this one, because
-- something else stands in the way. p_kinds: those that the operation has. Index changes_subject.
create or replace function loci_internal.changed_since(p_namespace_id integer, p_operation uuid, p_kinds text[])
returns table (kind text, name text, subject_id uuid, operation_id uuid, action text)
language sql stable set search_path = ''
as $$
    with changed as (
        select 'memory' as kind, m as subject_id, m::text as name
        from loci_internal.memories_changed_since(p_namespace_id, p_operation) m where 'memory' = any (p_kinds)
        union all
        select 'placement', p, p::text from loci_internal.placements_changed_since(p_namespace_id, p_operation) p
        where 'placement' = any (p_kinds)
        union all
        select 'link', l, l::text from loci_internal.links_changed_since(p_namespace_id, p_operation) l
        where 'link' = any (p_kinds)
        union all
        select 'entity', e, e::text from loci_internal.entities_changed_since(p_namespace_id, p_operation) e
        where 'entity' = any (p_kinds) and 'merge' <> all (p_kinds)
        union all
        select 'edge', e, e::text from loci_internal.edges_changed_since(p_namespace_id, p_operation) e
        where 'edge' = any (p_kinds) and 'merge' <> all (p_kinds)
        union all
        select 'attribute', a, a::text from loci_internal.attributes_changed_since(p_namespace_id, p_operation) a
        where p_kinds && '{aspect,attribute,supersession}' and 'merge' <> all (p_kinds)
        union all
        select s.kind, s.subject_id, s.name from loci_internal.settings_changed_since(p_namespace_id, p_operation) s
        where p_kinds && '{edge_type,namespace,grant}'
    )
    select c.kind, c.name, c.subject_id, o.id, o.action
    from changed c
    left join lateral (
        select x.operation_id from (
            (select 1 as place, w.id as nth, w.operation_id from loci_data.outbox w
             where w.namespace_id = p_namespace_id and w.subject_id = c.subject_id order by w.id desc limit 1)
            union all
            (select 0, h.position, h.operation_id from loci_data.changes h
             where h.namespace_id = p_namespace_id and h.subject_id = c.subject_id order by h.position desc limit 1)) x
        order by x.place desc, x.nth desc limit 1) l on true
    left join loci_data.operations o on o.namespace_id = p_namespace_id and o.id = l.operation_id
         and o.id <> p_operation
    order by c.kind, c.name
$$;
comment on function loci_internal.changed_since(integer, uuid, text[]) is
    'Things of an operation that were changed since, and by which operation.';

-- Which entities of an operation say something of themselves that is neither what it left nor what it found, were
-- merged into others, or were removed or brought back by others since? Those that it wrote are no matter: they go where
-- nothing else rests on them, and stay else. A probe of the primary key an entity.
create or replace function loci_internal.entities_changed_since(p_namespace_id integer, p_operation uuid)
returns setof uuid
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select n.subject_id
    from loci_internal.net_changes(p_namespace_id, p_operation, 'entity') n
    cross join lateral (select x as entity from loci_data.entities x where x.namespace_id = p_namespace_id
                        and x.id = n.subject_id limit 1) e
    cross join lateral jsonb_populate_record(e.entity, n.after) a
    cross join lateral jsonb_populate_record(e.entity, n.before) b
    where not n.created and n.after is not null
      and (a.name, a.type, a.aliases, a.description, a.metadata, a.pinned_at, a.merged_into) is distinct from
          ((e.entity).name, (e.entity).type, (e.entity).aliases, (e.entity).description, (e.entity).metadata,
           (e.entity).pinned_at,
           case when n.after ? 'merged_into' or (e.entity).merged_into is null then (e.entity).merged_into
               else n.subject_id end)
      and (b.name, b.type, b.aliases, b.description, b.metadata, b.pinned_at, b.merged_into) is distinct from
          ((e.entity).name, (e.entity).type, (e.entity).aliases, (e.entity).description, (e.entity).metadata,
           (e.entity).pinned_at,
           (e.entity).merged_into)
$$;
comment on function loci_internal.entities_changed_since(integer, uuid) is
    'Entities of an operation that were changed since.';

-- Which links of an operation were changed since: one that it made has another strength, or one that it ended is there
-- again? A link that it made and that is gone by now is no matter. Sources. Index memory_links_present.
create or replace function loci_internal.links_changed_since(p_namespace_id integer, p_operation uuid)
returns setof uuid
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select n.source_id
    from (select l.source_id, l.target_id, l.type, max(l.strength) filter (where l.gained) as made,
          max(l.strength) filter (where not l.gained) as ended
          from loci_internal.net_link_changes(p_namespace_id, p_operation) l group by l.source_id, l.target_id,
               l.type) n
    left join lateral (select w.strength from loci_data.memory_links w
                       where w.namespace_id = p_namespace_id and w.source_id = n.source_id
                         and w.target_id = n.target_id and w.type = n.type
                         and w.superseded_at is null limit 1) w on true
    where w.strength is distinct from n.made and w.strength is distinct from n.ended
      and not (w.strength is null and n.ended is null)
$$;
comment on function loci_internal.links_changed_since(integer, uuid) is
    'Sources of links that were changed since an operation changed them.';

-- Which memories of an operation are neither as it left them nor as it found them? Something has changed them since, so
-- undoing it would take that back too. One that it wrote and that is forgotten by now, or erased, is no matter. A probe
-- of the primary key a memory.
create or replace function loci_internal.memories_changed_since(p_namespace_id integer, p_operation uuid)
returns setof uuid
language sql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
    select n.subject_id
    from loci_internal.net_changes(p_namespace_id, p_operation, 'memory') n
    cross join lateral (select x as memory, x.status from loci_data.memories x
                        where x.namespace_id = p_namespace_id and x.id = n.subject_id limit 1) m
    cross join lateral jsonb_populate_record(m.memory, case
                                             when n.created then '{"valid_to": null, "superseded_at": null}'::jsonb
                                                 || n.after
                                                            else n.after end) a
    cross join lateral jsonb_populate_record(m.memory, coalesce(n.before, '{}')) b
    where n.after is not null and not (n.created and m.status = 'forgotten')
      and (a.valid_from, a.valid_to, a.superseded_at, a.status, loci.memory_details(a))
          is distinct from ((m.memory).valid_from, (m.memory).valid_to, (m.memory).superseded_at, (m.memory).status,
                            loci.memory_details(m.memory))
      and (n.created or (b.valid_from, b.valid_to, b.superseded_at, b.status, loci.memory_details(b))
          is distinct from ((m.memory).valid_from, (m.memory).valid_to, (m.memory).superseded_at, (m.memory).status,
                            loci.memory_details(m.memory)))
$$;
comment on function loci_internal.memories_changed_since(integer, uuid) is
    'Memories of an operation that were changed since.';

-- Which lineages do not stand where an operation put them, or stand where it took them from? Someone has moved them
-- since.
create or replace function loci_internal.placements_changed_since(p_namespace_id integer, p_operation uuid)
returns setof uuid
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with net as materialized (
        select * from loci_internal.net_placement_changes(p_namespace_id, p_operation)
    ), standing as (
        select n.node_id, n.gained, exists (
                   select from loci_data.memory_placements p
                   where p.namespace_id = p_namespace_id and p.node_id = n.node_id and p.superseded_at is null
                     and (p.parent_id, p.valid_from, p.valid_to) is not distinct from (n.parent_id, n.valid_from,
                         n.valid_to)) as stands,
               exists (
                   select from loci_data.memory_placements p
                   where p.namespace_id = p_namespace_id and p.node_id = n.node_id and p.superseded_at is null
                     and loci_internal.periods_overlap(p.valid_from, p.valid_to, n.valid_from, n.valid_to)
                     and not exists (select from net g where g.gained and g.node_id = n.node_id
                                     and (p.parent_id, p.valid_from, p.valid_to) is not distinct from (g.parent_id,
                                         g.valid_from, g.valid_to))) as taken
        from net n
    )
    select distinct s.node_id from standing s where case when s.gained then not s.stands else s.taken
        and not s.stands end
$$;
comment on function loci_internal.placements_changed_since(integer, uuid) is
    'Lineages that were moved since an operation moved them.';

-- Which rules that an operation set are neither as it left them nor as it found them: edge types, settings and
-- description of the namespace (each setting for itself), grants. One row each: kind, what it is called, the agent of a
-- grant.
create or replace function loci_internal.settings_changed_since(p_namespace_id integer, p_operation uuid)
returns table (kind text, name text, subject_id uuid)
language sql stable set search_path = ''
as $$
    select 'edge_type', n.after ->> 'type', null::uuid
    from loci_internal.net_changes(p_namespace_id, p_operation, 'edge_type') n
    join loci_data.edge_types t on t.namespace_id = p_namespace_id and t.type = n.after ->> 'type'
    cross join lateral jsonb_populate_record(t, case when n.created then '{"decay_rate": null, "description": null}'
                                             else '{}'::jsonb end || n.after) a
    cross join lateral jsonb_populate_record(t, case
                                             when n.created
                                                 then '{"decay_rate": null, "single_valued": false, "description": '
                                                      'null}' else n.before end) b
    where (a.decay_rate, a.single_valued, a.description) is distinct from (t.decay_rate, t.single_valued, t.description)
      and (b.decay_rate, b.single_valued, b.description) is distinct from (t.decay_rate, t.single_valued, t.description)
    union all
    select 'namespace', f.name, null
    from loci_internal.net_setting_changes(p_namespace_id, p_operation) f
    where f.now is distinct from f.after and f.now is distinct from f.before
    union all
    select 'grant', n.subject_id::text, n.subject_id
    from loci_internal.net_changes(p_namespace_id, p_operation, 'grant') n
    left join loci_data.grants g on g.namespace_id = p_namespace_id and g.agent_id = n.subject_id
    where case when n.erased then g.agent_id is not null
               else g.role is distinct from coalesce(n.after ->> 'role', g.role)
                    or n.after ? 'expires_at' and g.expires_at is distinct from (n.after ->> 'expires_at')::timestamptz
                        end
      and not (n.created and g.agent_id is null)
$$;
comment on function loci_internal.settings_changed_since(integer, uuid) is
    'Edge types, settings and grants of an operation that were changed since.';

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
