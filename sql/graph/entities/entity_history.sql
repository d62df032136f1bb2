-- Entities at an earlier moment.

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

-- Names and aliases of all entities as known at a moment, in canonical form: today's names of entities that have not
-- changed since, and the believed names of the others. Reads the names and the beliefs of the namespace once.
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

-- Which entity does a reference mean where what hangs on it has no second time (aspects, mentions)? The one that it
-- means now (find_entity_id); but with p_known_at before infinity, the one that it meant then, if that was removed
-- since.
-- Null: none.
create or replace function loci_internal.entity_at_or_removed(p_namespace_id integer, p_ref text,
                                                              p_known_at timestamptz) returns uuid
language sql stable parallel safe set search_path = ''
as $$
    select coalesce(
        (select e.id from loci_data.entities e
         where p_known_at < 'infinity' and e.namespace_id = p_namespace_id
           and e.id = loci_internal.entity_id_at(p_namespace_id, p_ref, p_known_at)
           and e.merged_into = e.id),
        loci_internal.find_entity_id(p_namespace_id, p_ref))
$$;
comment on function loci_internal.entity_at_or_removed(integer, text, timestamptz) is
    'Id of the entity that a reference means, a removed one at a moment before that; null if there is none.';

-- Which entity did an id, a name or an alias mean, by what was known at a moment? The name of then comes first, then
-- the alias of then, then what it means now; of an entity that was merged or removed later: itself. The entity that it
-- had been merged into by then is followed. Null: nothing, or removed by then. Probes of entity_beliefs_name and of
-- primary keys; what was no name then costs a look at the aliases (entity_id_by_alias_at).
create or replace function loci_internal.entity_id_at(p_namespace_id integer, p_ref text, p_known_at timestamptz)
returns uuid
language plpgsql stable parallel safe set search_path = ''
as $$
declare
    v_name text := loci.canonical_name(p_ref);
    v_id   uuid;
    v_into uuid;
begin
    if p_ref ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
        select e.id into v_id from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = p_ref::uuid;
    end if;
    if v_id is null then
        select b.entity_id into v_id from loci_data.entity_beliefs b
        where b.namespace_id = p_namespace_id and b.canonical_name = v_name
          and b.believed_at <= p_known_at and b.believed_to > p_known_at and b.merged_into is distinct from b.entity_id
        order by b.merged_into is not null, b.entity_id limit 1;
    end if;
    if v_id is null then
        select e.id into v_id from loci_data.entities e
        where e.namespace_id = p_namespace_id and e.canonical_name = v_name and e.merged_into is null
          and e.created_at <= p_known_at
          and not exists (select from loci_data.entity_beliefs b where b.namespace_id = p_namespace_id
                          and b.entity_id = e.id and b.believed_to > p_known_at);
    end if;
    v_id := coalesce(v_id, loci_internal.entity_id_by_alias_at(p_namespace_id, v_name, p_known_at),
                     loci_internal.find_entity_id(p_namespace_id, p_ref));
    while v_id is not null loop
        select case when b.entity_id is null then e.merged_into else b.merged_into end into v_into
        from loci_data.entities e
        left join lateral (
            select k.entity_id, k.merged_into from loci_data.entity_beliefs k
            where e.updated_at > p_known_at and k.namespace_id = p_namespace_id and k.entity_id = e.id
              and k.believed_to > p_known_at
            order by k.believed_to limit 1) b on true
        where e.namespace_id = p_namespace_id and e.id = v_id;
        exit when v_into is null;
        v_id := case when v_into <> v_id then v_into end;
    end loop;
    return v_id;
end $$;
comment on function loci_internal.entity_id_at(integer, text, timestamptz) is
    'Id of the entity that a reference meant, as known at a moment; null if there is none.';

-- Which entity had this alias, in canonical form, at a moment? If there are several, the most mentioned. Null: none.
-- Cost: a probe of entity_names, and about 10 µs for each alias of what changed since (index entity_beliefs_until).
create or replace function loci_internal.entity_id_by_alias_at(p_namespace_id integer, p_alias text,
                                                               p_known_at timestamptz) returns uuid
language sql stable parallel safe set search_path = '' set enable_seqscan = off
as $$
    select e.id
    from (select b.entity_id
          from loci_data.entity_beliefs b
          where b.namespace_id = p_namespace_id and b.believed_to > p_known_at and b.believed_at <= p_known_at
            and b.merged_into is null
            and exists (select from unnest(b.aliases) a(alias) where loci.canonical_name(a.alias) = p_alias)
          union all
          select n.entity_id
          from loci_data.entity_names n
          where n.namespace_id = p_namespace_id and n.canonical_name = p_alias and n.is_alias
            and not exists (select from loci_data.entity_beliefs b where b.namespace_id = p_namespace_id
                            and b.entity_id = n.entity_id and b.believed_to > p_known_at)) k
    join loci_data.entities e on e.namespace_id = p_namespace_id and e.id = k.entity_id
    where e.created_at <= p_known_at
    order by e.mentions desc, e.id limit 1
$$;
comment on function loci_internal.entity_id_by_alias_at(integer, text, timestamptz) is
    'Id of the entity that had an alias at a moment, the most mentioned of several; null if there is none.';

-- Trigger: before what an entity says of itself changes, what was believed until now is kept, so that known_at can be
-- answered for every moment. The change's own time, updated_at, ends the old belief. One probe of the primary key of
-- entity_beliefs.
create or replace function loci_internal.archive_entity_belief() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_since timestamptz := coalesce((
        select b.believed_to from (  -- in this order none but the primary key has them, new as the table may be
            select x.entity_id, x.believed_to from loci_data.entity_beliefs x
            where x.namespace_id = old.namespace_id and (x.entity_id, x.believed_to) <= (old.id, 'infinity')
            order by x.entity_id desc, x.believed_to desc limit 1) b
        where b.entity_id = old.id), old.created_at);
begin
    new.updated_at := greatest(new.updated_at, v_since + interval '1 microsecond');
    insert into loci_data.entity_beliefs (namespace_id, entity_id, name, canonical_name, type, aliases, description,
                                          metadata,
                                          pinned_at, first_seen_at, merged_into, hidden, believed_at, believed_to)
    values (old.namespace_id, old.id, old.name, old.canonical_name, old.type, old.aliases, old.description,
            old.metadata,
            old.pinned_at, old.first_seen_at, old.merged_into, old.hidden, v_since, new.updated_at);
    return new;
end $$;
comment on function loci_internal.archive_entity_belief() is
    'Trigger: keep the ending belief about an entity in entity_beliefs.';

-- Nothing that was once believed of the graph is lost when it changes. Counters are not beliefs: they are present
-- figures.
create or replace trigger entities_belief before update on loci_data.entities
    for each row when (old.name <> new.name or old.type <> new.type or old.aliases <> new.aliases
                       or old.metadata <> new.metadata
                       or old.description is distinct from new.description or old.pinned_at
                           is distinct from new.pinned_at
                       or old.first_seen_at <> new.first_seen_at or old.merged_into is distinct from new.merged_into
                       or old.hidden <> new.hidden)
    execute function loci_internal.archive_entity_belief();
