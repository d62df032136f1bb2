-- Entities as the API shows them, as known at a moment (infinity: as believed now). An entity's own fields are as
-- believed then; its counters (mentions, observations), confidence and last_referenced_at are present figures at any
-- moment. One primary key look-up each, and one in entity_beliefs where something changed since. Inlines.
create or replace function loci_internal.entity_rows(p_namespace_id integer, p_ids uuid[], p_known_at timestamptz)
returns table (id uuid, name text, canonical_name text, type text, aliases text[], description text,
               confidence double precision,
               mentions integer, observations integer, pinned boolean, pinned_at timestamptz, metadata jsonb,
               first_seen_at timestamptz, created_at timestamptz, updated_at timestamptz,
               last_referenced_at timestamptz)
language sql stable parallel safe
as $$
    select e.id, s.name, s.canonical_name, s.type, s.aliases, s.description, e.confidence, e.mentions, e.observations,
           s.pinned_at is not null, s.pinned_at, s.metadata, s.first_seen_at, e.created_at, s.updated_at,
           e.last_referenced_at
    from loci_data.entities e
    left join lateral (
        select b.* from loci_data.entity_beliefs b
        where e.updated_at > p_known_at and b.namespace_id = p_namespace_id and b.entity_id = e.id
          and b.believed_to > p_known_at
        order by b.believed_to limit 1) b on true
    cross join lateral (
        select e.name, e.canonical_name, e.type, e.aliases, e.description, e.pinned_at, e.metadata, e.first_seen_at,
               e.updated_at
        where b.entity_id is null
        union all
        select b.name, b.canonical_name, b.type, b.aliases, b.description, b.pinned_at, b.metadata, b.first_seen_at,
               b.believed_at
        where b.entity_id is not null) s
    where e.namespace_id = p_namespace_id and e.id = any(p_ids)
$$;
comment on function loci_internal.entity_rows(integer, uuid[], timestamptz) is
    'Entities by id, in the columns that the API shows, as known at a moment; counters are present figures.';
