-- Entities as the API shows them. Inlines; one primary key look-up each. Called by get_entity and list_entities; internal.
create or replace function loci.entity_rows(p_namespace_id integer, p_ids uuid[])
returns table (id uuid, name text, canonical_name text, type text, aliases text[], description text, confidence double precision,
               mentions integer, observations integer, pinned boolean, pinned_at timestamptz, metadata jsonb,
               created_at timestamptz, updated_at timestamptz, last_referenced_at timestamptz)
language sql stable parallel safe
as $$
    select e.id, e.name, e.canonical_name, e.type, e.aliases, e.description, e.confidence, e.mentions, e.observations, e.pinned,
           e.pinned_at, e.metadata, e.created_at, e.updated_at, e.last_referenced_at
    from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = any(p_ids)
$$;
comment on function loci.entity_rows(integer, uuid[]) is 'Entities by id, in the columns that the API shows. Internal.';
