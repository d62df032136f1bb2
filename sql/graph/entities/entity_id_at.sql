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

-- Which entity had this alias, in canonical form, at a moment? Of several the most mentioned. Null: none. Cost: a probe
-- of entity_names, and about 10 µs for each alias of what changed since (index entity_beliefs_until).
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
