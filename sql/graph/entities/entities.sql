-- Entities as they are read: rows, one entity, lists.

-- Entities as the API shows them, as known at a moment (infinity: as believed now). An entity's own fields are as
-- believed then; its counters (mentions, observations), confidence and last_referenced_at are present figures at any
-- moment. One primary key look-up each, and one in entity_beliefs where something changed since. Inlines.
create or replace function loci_internal.entity_rows(p_namespace_id integer, p_ids uuid[], p_known_at timestamptz)
returns table (id uuid, name text, canonical_name text, type text, aliases text[], description text,
               confidence double precision, mentions integer, observations integer, pinned boolean,
               pinned_at timestamptz, metadata jsonb, first_seen_at timestamptz, created_at timestamptz,
               updated_at timestamptz, last_referenced_at timestamptz)
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

-- One entity by id, name or alias, as of a moment, as known at another (null: now, and as believed now). With
-- p_known_at a name or alias of then leads to it too, and so it is with what was merged since: a merged one is the one
-- that it went into, from then on. It is there from first_seen_at on, and known from created_at on. A few look-ups.
-- Counters are present figures (see entity_rows). Security definer: the hot path, past the policies; checks the caller
-- itself. Errors: 42501, P0002.
create or replace function loci.get_entity(p_namespace text, p_ref text, p_as_of timestamptz default null,
                                           p_known_at timestamptz default null)
returns table (id uuid, name text, canonical_name text, type text, aliases text[], description text,
               confidence double precision, mentions integer, observations integer, pinned boolean,
               pinned_at timestamptz, metadata jsonb, first_seen_at timestamptz, created_at timestamptz,
               updated_at timestamptz, last_referenced_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_known_at     timestamptz := coalesce(p_known_at, 'infinity');
    v_id           uuid;
begin
    v_id := case when v_known_at < 'infinity' then loci_internal.entity_id_at(v_namespace_id, p_ref, v_known_at)
        else loci_internal.find_entity_id(v_namespace_id, p_ref) end;
    return query
    select e.* from loci_internal.entity_rows(v_namespace_id, array[v_id], v_known_at) e
    where e.created_at <= v_known_at and e.first_seen_at <= coalesce(p_as_of, 'infinity')
      and e.id <> all (loci_internal.hidden_entities(v_namespace_id, v_known_at));
    if not found then
        raise no_data_found using message = format('entity %L does not exist', p_ref), column = 'entity';
    end if;
end $$;
comment on function loci.get_entity(text, text, timestamptz, timestamptz) is
    'The entity with this id, name or alias, as of a moment, as known at another; mentions, observations and '
    'confidence are present figures. Errors: 42501, P0002.';

-- Entities of a namespace, pinned ones first, then by mentions: a page at a time. p_query: how the canonical name
-- begins. As of p_as_of (those seen by then), as known at p_known_at (null: as believed now): filters and order go by
-- what was believed then, mentions are present ones; what was merged, or hidden, by then is left out. cursor, on every
-- row, is what to send for the page that starts after it. Cost: reads the namespace's entities once a page. Security
-- definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit, cursor).
create or replace function loci.list_entities(
    p_namespace text, p_type text default null, p_query text default null, p_pinned boolean default null,
    p_limit integer default 50, p_cursor text default null, p_as_of timestamptz default null,
    p_known_at timestamptz default null)
returns table (id uuid, name text, canonical_name text, type text, aliases text[], description text,
               confidence double precision, mentions integer, observations integer, pinned boolean,
               pinned_at timestamptz, metadata jsonb, first_seen_at timestamptz, created_at timestamptz,
               updated_at timestamptz, last_referenced_at timestamptz, cursor text)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_known_at     timestamptz := coalesce(p_known_at, 'infinity');
    v_key          text[];
    v_after        record;
    v_hidden       uuid[] := loci_internal.hidden_entities(v_namespace_id, v_known_at);
begin
    perform loci_internal.check_page(p_limit);
    v_key := loci_internal.read_cursor(p_cursor, 'timestamptz', 'integer', 'uuid');
    select v_key[1]::timestamptz as pinned_at, v_key[2]::integer as mentions, v_key[3]::uuid as id into v_after;
    return query
    select e.*, loci_internal.make_cursor(jsonb_build_array(coalesce(e.pinned_at, '-infinity'), e.mentions, e.id))
    from (
        select array_agg(p.id) as ids from (
            select i.id from loci_data.entities i
            left join lateral (
                select b.* from loci_data.entity_beliefs b
                where i.updated_at > v_known_at and b.namespace_id = v_namespace_id and b.entity_id = i.id
                  and b.believed_to > v_known_at
                order by b.believed_to limit 1) b on true
            cross join lateral (
                select case when b.entity_id is null then i.type else b.type end as type,
                       case when b.entity_id is null then i.canonical_name else b.canonical_name end as canonical_name,
                       coalesce(case when b.entity_id is null then i.pinned_at else b.pinned_at end,
                                '-infinity') as pinned_at,
                       coalesce(b.first_seen_at, i.first_seen_at) as first_seen_at,
                       case when b.entity_id is null then i.merged_into
                           else b.merged_into end as merged_into offset 0) s
            where i.namespace_id = v_namespace_id and s.merged_into is null and i.id <> all (v_hidden)
              and (p_type is null or s.type = loci.canonical_type(p_type))
              and (p_pinned is null or (s.pinned_at > '-infinity') = p_pinned)
              and (p_query is null or s.canonical_name ^@ loci.canonical_name(p_query))
              and i.created_at <= v_known_at and s.first_seen_at <= coalesce(p_as_of, 'infinity')
              and (p_cursor is null or (s.pinned_at, i.mentions) < (v_after.pinned_at, v_after.mentions)
                   or (s.pinned_at, i.mentions) = (v_after.pinned_at, v_after.mentions) and i.id > v_after.id)
            order by s.pinned_at desc, i.mentions desc, i.id limit p_limit) p
    ) page
    cross join lateral loci_internal.entity_rows(v_namespace_id, page.ids, v_known_at) e
    order by coalesce(e.pinned_at, '-infinity') desc, e.mentions desc, e.id;
end $$;
comment on function loci.list_entities(text, text, text, boolean, integer, text, timestamptz, timestamptz) is
    'Entities as of a moment, as known at another, pinned first, then most mentioned (a present figure); cursor '
    'pages. Errors: 42501, P0002, 22023.';

-- Does an entity's type give way to another? unknown to any, extracted to any but unknown; never the reverse. Pure,
-- inlines.
create or replace function loci_internal.entity_type_is_vaguer(p_type text, p_other text) returns boolean
language sql immutable parallel safe
return coalesce(p_type = 'unknown' and p_other <> 'unknown' or p_type = 'extracted'
                and p_other not in ('unknown', 'extracted'), false);
comment on function loci_internal.entity_type_is_vaguer(text, text) is
    'Whether the first entity type says less than the second (unknown, then extracted, then all others).';
