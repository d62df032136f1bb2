-- Entities of these that were there: seen by p_as_of, known by p_known_at, and not merged, removed or hidden by then.
-- Null: now. Their own fields are as believed then; mentions are a present figure (entity_rows). A few
-- primary key look-ups each. Inlines.
create or replace function loci_internal.entities_at(p_namespace_id integer, p_ids uuid[], p_as_of timestamptz,
                                                     p_known_at timestamptz)
returns table (id uuid, name text, type text, aliases text[], description text, mentions integer, pinned boolean)
language sql stable parallel safe
as $$
    select r.id, r.name, r.type, r.aliases, r.description, r.mentions, r.pinned
    from loci_internal.entity_rows(p_namespace_id, p_ids, coalesce(p_known_at, 'infinity')) r
    join loci_data.entities e on e.namespace_id = p_namespace_id and e.id = r.id
    left join lateral (
        select b.entity_id, b.merged_into, b.hidden from loci_data.entity_beliefs b
        where e.updated_at > p_known_at and b.namespace_id = p_namespace_id and b.entity_id = e.id
          and b.believed_to > p_known_at
        order by b.believed_to limit 1) b on true
    where (p_known_at is null or r.created_at <= p_known_at) and (p_as_of is null or r.first_seen_at <= p_as_of)
      and case when b.entity_id is null then e.merged_into else b.merged_into end is null
      and not case when b.entity_id is null then e.hidden else b.hidden end
$$;
comment on function loci_internal.entities_at(integer, uuid[], timestamptz, timestamptz) is
    'Those of some entities that were there at two moments, as believed then.';

-- Names and aliases of all entities as known at a moment, in canonical form: those of today, of what has not changed
-- since, and what was believed of the others. Reads the names and the beliefs of the namespace once.
create or replace function loci_internal.entity_names_at(p_namespace_id integer, p_known_at timestamptz)
returns table (entity_id uuid, canonical_name text, is_alias boolean)
language sql stable parallel safe
as $$
    select n.entity_id, n.canonical_name, n.is_alias
    from loci_data.entity_names n
    join loci_data.entities e on e.namespace_id = p_namespace_id and e.id = n.entity_id
    where n.namespace_id = p_namespace_id and e.created_at <= p_known_at
      and not exists (select from loci_data.entity_beliefs b where b.namespace_id = p_namespace_id
                      and b.entity_id = e.id and b.believed_to > p_known_at)
    union
    select b.entity_id, k.name, k.name <> b.canonical_name
    from loci_data.entity_beliefs b
    cross join lateral (select b.canonical_name as name
                        union select loci.canonical_name(a.alias) from unnest(b.aliases) a(alias)) k
    where b.namespace_id = p_namespace_id and b.believed_at <= p_known_at and b.believed_to > p_known_at
      and b.merged_into is null and k.name <> ''
$$;
comment on function loci_internal.entity_names_at(integer, timestamptz) is
    'Names and aliases of all entities, as known at a moment.';
