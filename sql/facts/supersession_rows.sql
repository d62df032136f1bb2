-- Decisions as the API shows them: both contents, with the entity and aspect that they are about. Look-ups by primary
-- key.
create or replace function loci_internal.supersession_rows(p_namespace_id integer, p_ids uuid[])
returns table (id uuid, status text, signal text, confidence double precision, evidence text[], origin text,
               entity_id uuid, entity text,
               aspect_id uuid, aspect text, older_id uuid, older text, newer_id uuid, newer text,
               created_at timestamptz,
               decided_at timestamptz, decided_by uuid, undone_at timestamptz)
language sql stable parallel safe
as $$
    select s.id, s.status, s.signal, s.confidence, s.evidence, s.origin, e.id, e.name, p.id, p.name, o.id, o.content,
           n.id, n.content,
           s.created_at, s.decided_at, s.decided_by, s.undone_at
    from loci_data.supersessions s
    cross join lateral (select a.* from loci_data.attributes a where a.namespace_id = p_namespace_id
                        and a.id = s.older_id offset 0) o
    cross join lateral (select a.* from loci_data.attributes a where a.namespace_id = p_namespace_id
                        and a.id = s.newer_id offset 0) n
    cross join lateral (select a.* from loci_data.aspects a where a.namespace_id = p_namespace_id
                        and a.id = o.aspect_id offset 0) p
    cross join lateral (select i.* from loci_data.entities i where i.namespace_id = p_namespace_id
                        and i.id = p.entity_id offset 0) e
    where s.namespace_id = p_namespace_id and s.id = any (p_ids)
$$;
comment on function loci_internal.supersession_rows(integer, uuid[]) is
    'Supersessions by id, in the columns that the API shows.';
