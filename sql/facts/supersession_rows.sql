-- Decisions as the API shows them: both contents, with the entity and aspect that they are about; one is dismissed as
-- long as its newer attribute does not hold (decision_is_idle); of edges, their types
-- and targets, and when in valid time the older one ended. Look-ups by primary key.
create or replace function loci_internal.supersession_rows(p_namespace_id integer, p_ids uuid[])
returns table (id uuid, status text, signal text, confidence double precision, evidence text[], origin text,
               entity_id uuid, entity text,
               aspect_id uuid, aspect text, older_id uuid, older text, newer_id uuid, newer text,
               created_at timestamptz,
               decided_at timestamptz, decided_by uuid, undone_at timestamptz, ended_at timestamptz)
language sql stable parallel safe
as $$
    select s.id, case when s.status = 'applied' and loci_internal.decision_is_idle(n) then 'dismissed'
               else s.status end, s.signal, s.confidence, s.evidence, s.origin, e.id, e.name, p.id, p.name, o.id,
           o.content, n.id, n.content,
           s.created_at, s.decided_at, s.decided_by, s.undone_at, s.ended_at
    from loci_data.supersessions s
    cross join lateral (select a.* from loci_data.attributes a where a.namespace_id = p_namespace_id
                        and a.id = s.older_id offset 0) o
    cross join lateral (select a.* from loci_data.attributes a where a.namespace_id = p_namespace_id
                        and a.id = s.newer_id offset 0) n
    cross join lateral (select a.* from loci_data.aspects a where a.namespace_id = p_namespace_id
                        and a.id = o.aspect_id offset 0) p
    cross join lateral (select i.* from loci_data.entities i where i.namespace_id = p_namespace_id
                        and i.id = p.entity_id offset 0) e
    where s.namespace_id = p_namespace_id and s.id = any (p_ids) and s.ended_at is null
    union all
    select s.id, s.status, s.signal, s.confidence, s.evidence, s.origin, o.source_id, o.source, null, null, o.id,
           concat_ws(' ', o.type, o.target), n.id, concat_ws(' ', n.type, n.target),
           s.created_at, s.decided_at, s.decided_by, s.undone_at, s.ended_at
    from loci_data.supersessions s
    cross join lateral loci_internal.edge_names(p_namespace_id, s.older_edge_id) o
    cross join lateral loci_internal.edge_names(p_namespace_id, s.newer_edge_id) n
    where s.namespace_id = p_namespace_id and s.id = any (p_ids) and s.ended_at is not null
$$;
comment on function loci_internal.supersession_rows(integer, uuid[]) is
    'Supersessions by id, in the columns that the API shows.';

-- Does an attribute that would supersede another hold at no moment, so that it ends nothing? It is deleted, or its
-- memory is forgotten or was corrected. Inlines.
create or replace function loci_internal.decision_is_idle(p_newer loci_data.attributes) returns boolean
language sql immutable parallel safe
as $$
    select p_newer.taken_back_at is not null or coalesce(p_newer.own_to = p_newer.valid_from, false)
$$;
comment on function loci_internal.decision_is_idle(loci_data.attributes) is
    'Whether the newer attribute of a decision holds at no moment.';

-- An edge by the names of its ends, which may be those of merged entities. Primary keys. Inlines.
create or replace function loci_internal.edge_names(p_namespace_id integer, p_id uuid)
returns table (id uuid, source_id uuid, source text, type text, target text)
language sql stable parallel safe
as $$
    select e.id, s.id, s.name, e.type, coalesce(t.name, e.literal)
    from loci_data.edges e
    join loci_data.entities s on s.namespace_id = e.namespace_id and s.id = e.source_id
    left join loci_data.entities t on t.namespace_id = e.namespace_id and t.id = e.target_id
    where e.namespace_id = p_namespace_id and e.id = p_id
$$;
comment on function loci_internal.edge_names(integer, uuid) is
    'An edge by the names of its ends.';
