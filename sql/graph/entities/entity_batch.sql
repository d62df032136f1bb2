-- Entities of a batch, and the sessions that share them.

-- The entities of a write, one row for each that is meant (group_entity_items). Items about one entity are put together
-- as if they came one after the other. ordinals: the items. stated: the confidence that the first of them states.
-- seen_at: the earliest moment that one of them dates from. A few hash joins over the items.
create or replace function loci_internal.entity_batch(p_namespace_id integer, p_entities jsonb)
returns table (ordinals integer[], id uuid, name text, canonical_name text, type text, aliases text[], description text,
               metadata jsonb, stated double precision, seen_at timestamptz)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan
set enable_nestloop = off set enable_seqscan = off
as $$
begin
    return query
    with observed as materialized (
        select g.*, row_number() over (partition by g.key order by g.ordinal) as nth
        from loci_internal.group_entity_items(p_namespace_id, p_entities) g
    ), named as (
        select a.key, array_agg(a.alias order by a.ordinal, a.place) as aliases
        from (select o.key, o.ordinal, u.alias, u.place from observed o
              cross join lateral unnest(o.aliases) with ordinality u(alias, place)
              union all select o.key, o.ordinal, o.name, 0 from observed o where o.by_alias) a
        group by a.key
    ), described as (
        select o.key, jsonb_object_agg(e.key, e.value order by o.nth) as metadata
        from observed o cross join lateral jsonb_each(o.metadata) e where jsonb_typeof(o.metadata) = 'object'
        group by o.key
    )
    select array_agg(o.ordinal order by o.nth), o.id,
           (array_agg(o.name order by o.nth))[1], (array_agg(o.canonical_name order by o.nth))[1],
           (array_agg(o.type order by case o.type when 'unknown' then 2 when 'extracted' then 1 else 0 end, o.nth)
                filter (where o.type is not null))[1],
           n.aliases,
           (array_agg(o.description order by o.nth desc) filter (where o.description is not null))[1],
           d.metadata,
           (array_agg(o.confidence order by o.nth))[1], min(o.seen_at)
    from observed o left join named n using (key) left join described d using (key)
    group by o.key, o.id, n.aliases, d.metadata;
end $$;
comment on function loci_internal.entity_batch(integer, jsonb) is
    'Items of a write gathered by the entity they mean.';

-- Which entity does each item of a write mean? The known one with its name as name or alias, or with its name among
-- the item's aliases (resolve_new_names); a new one likewise, by what an earlier item of the same write gave. One row
-- an item; key: the same for items that mean the same. by_alias: the item's name is one more alias of the entity.
-- Inlines.
create or replace function loci_internal.group_entity_items(p_namespace_id integer, p_entities jsonb)
returns table (key text, id uuid, by_alias boolean, ordinal integer, name text, canonical_name text, type text,
               aliases text[], description text, metadata jsonb, confidence double precision, seen_at timestamptz)
language sql stable
as $$
    with recursive item as materialized (
        select i.* from loci_internal.parse_entities(p_entities) i
    ), known as materialized (
        select k.*, false as by_alias
        from loci_internal.resolve_names(p_namespace_id, (select array_agg(i.canonical_name) from item i)) k
        union all
        select a.*, true from loci_internal.resolve_new_names(p_namespace_id, (
            select jsonb_agg(to_jsonb(i)) from item i where i.aliases <> '{}')) a
    ), alias as materialized (
        select i.ordinal as item, loci.canonical_name(u.alias) as canonical_name
        from item i cross join lateral unnest(i.aliases) u(alias)
    ), step as materialized (
        select i.ordinal, k.id, min(i.ordinal) over (partition by i.canonical_name) as first,
               case when k.id is null
                    then least(a.item, min(f.item) over (partition by i.canonical_name)) end as earlier,
               k.by_alias or k.id is null and f.item is not null as by_alias
        from item i left join known k using (canonical_name)
        left join (select b.canonical_name, min(b.item) as item from alias b group by 1) a using (canonical_name)
        left join (select b.item as ordinal, min(e.ordinal) as item from alias b
                   join item e on e.canonical_name = b.canonical_name and e.ordinal < b.item group by 1) f
             on f.ordinal = i.ordinal
    ), member as (
        select s.ordinal, coalesce(s.id::text, s.first::text) as key, s.id, s.by_alias
        from step s where s.earlier is null or s.earlier >= s.first
        union all
        select s.ordinal, m.key, m.id, s.by_alias
        from member m join step s on s.earlier = m.ordinal and s.earlier < s.first
    )
    select m.key, m.id, m.by_alias, i.* from member m join item i using (ordinal)
$$;
comment on function loci_internal.group_entity_items(integer, jsonb) is
    'Items of a write, with the entity that each means.';

-- Which conversations have observed an entity is true of the one that it is merged into: add the sessions of p_from to
-- those of p_to, or take them off again (p_back). The rows of p_from stay: on a merged entity they are out of sight.
-- The caller holds both entities.
create or replace function loci_internal.share_sessions(p_namespace_id integer, p_from uuid, p_to uuid, p_back boolean)
returns void
language plpgsql volatile set search_path = ''
as $$
begin
    if not p_back then
        insert into loci_data.entity_sessions as k (namespace_id, entity_id, session_id, observations,
                                                    first_observed_at, last_observed_at)
        select p_namespace_id, p_to, s.session_id, s.observations, s.first_observed_at, s.last_observed_at
        from loci_data.entity_sessions s where s.namespace_id = p_namespace_id and s.entity_id = p_from
        order by s.session_id
        on conflict (namespace_id, entity_id, session_id) do update
        set observations = k.observations + excluded.observations,
            first_observed_at = least(k.first_observed_at, excluded.first_observed_at),
            last_observed_at = greatest(k.last_observed_at, excluded.last_observed_at);
        return;
    end if;
    delete from loci_data.entity_sessions k using loci_data.entity_sessions s
    where k.namespace_id = p_namespace_id and k.entity_id = p_to and s.namespace_id = p_namespace_id
      and s.entity_id = p_from
      and k.session_id = s.session_id and k.observations <= s.observations;
    update loci_data.entity_sessions k set observations = k.observations - s.observations
    from loci_data.entity_sessions s
    where k.namespace_id = p_namespace_id and k.entity_id = p_to and s.namespace_id = p_namespace_id
      and s.entity_id = p_from
      and k.session_id = s.session_id;
end $$;
comment on function loci_internal.share_sessions(integer, uuid, uuid, boolean) is
    'Add the conversations of one entity to those of another, or take them off again.';
