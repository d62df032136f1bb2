-- Items of an import with the validity that they have among the versions of their lineages, in the order in which they
-- were written there; versions that are here already are changed to fit. So files may come in any order. A version is
-- valid from where it states, else from when it was written (written_at), until it ends or a later one begins. One that
-- would begin later than a later one is valid never. A lineage with one version is left alone: when that was written is
-- not when it was true. As soon as there are two, one began when the other was replaced, so a version that was valid
-- from its import is valid from when it was written. Versions of Loci's own count as written when they were recorded,
-- or when they begin, if that is later. A forgotten memory stays forgotten, and keeps older ones from coming back.
-- Items without written_at come after those that are there, as remember places them. The caller has locked the
-- lineages. Index memories_lineage_version_key, planned for any namespace.
create or replace function loci_internal.place_imported_versions(p_namespace_id integer, p_items jsonb,
                                                                 p_at timestamptz) returns jsonb
language plpgsql volatile set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
declare
    v_placed jsonb;
begin
    with item as materialized (
        select i.item, i.ordinal, i.item ->> 'lineage' as lineage, (i.item ->> 'written_at')::timestamptz as written_at,
               (i.item ->> 'valid_from')::timestamptz as starts, (i.item ->> 'valid_to')::timestamptz as ends
        from jsonb_array_elements(p_items) with ordinality i(item, ordinal)
        where i.item ->> 'lineage' is not null and i.item ->> 'written_at' is not null
    ), version as materialized (
        select null::bigint as ordinal, m.id, m.lineage, coalesce(s.written_at, greatest(m.recorded_at, m.valid_from))
                   as written_at, m.status = 'active' as changes,
               case when m.valid_from = m.recorded_at then least(coalesce(s.written_at, m.valid_from), m.valid_to)
                    else m.valid_from end as starts, m.valid_to as ends,
               m.valid_to is not null and not exists (
                   select from loci_data.memories n where n.namespace_id = p_namespace_id and n.lineage = m.lineage
                      and n.valid_from = m.valid_to) as ended
        from (select distinct i.lineage from item i) l
        join loci_data.memories m on m.namespace_id = p_namespace_id and m.lineage = l.lineage
            and (m.valid_to is null or m.valid_to > m.valid_from)
        cross join lateral (select loci_internal.source_time(m.id, m.metadata) as written_at) s
        union all
        select i.ordinal, (i.item ->> 'id')::uuid, i.lineage, i.written_at, true,
               case when i.starts is null or i.item ? 'start_is_derived'
                    then greatest(i.starts, least(i.written_at, i.ends)) else i.starts end, i.ends, i.ends is not null
        from item i
    ), followed as materialized (
        select v.*, min(v.starts) over later as until, count(*) over (partition by v.lineage) as versions
        from version v
        window later as (partition by v.lineage order by v.written_at, v.ended, v.id
                         rows between 1 following and unbounded following)
    ), placed as materialized (  -- greatest and least pass over null
        select f.*, case when coalesce(f.ends, f.until) is not null
                         then greatest(f.starts, least(f.ends, f.until)) end as final
        from followed f where f.versions > 1
    ), fitted as (
        update loci_data.memories m
        set valid_from = p.starts, valid_to = p.final, updated_at = p_at,
            superseded_at = coalesce(m.superseded_at, case when p.final <= p_at then p_at end)
        from placed p
        where p.ordinal is null and p.changes and m.namespace_id = p_namespace_id and m.id = p.id
          and (m.valid_from, m.valid_to) is distinct from (p.starts, p.final)
    )
    select jsonb_agg(i.item || case when p.id is null then '{}'
                                    else jsonb_build_object('valid_from', p.starts, 'valid_to', p.final) end
                     order by p.written_at nulls last, p.ended, i.ordinal) into v_placed
    from jsonb_array_elements(p_items) with ordinality i(item, ordinal)
    left join placed p on p.ordinal = i.ordinal;
    return v_placed;
end $$;
comment on function loci_internal.place_imported_versions(integer, jsonb, timestamptz) is
    'Items of an import, placed among the versions of their lineages by when they were written there.';

-- When was a memory written in the system that it was imported from? Null: it was written here. Ids of imports follow
-- from identities (UUID version 5); a version of Loci's own may have inherited the metadata, but not the id.
create or replace function loci_internal.source_time(p_id uuid, p_metadata jsonb) returns timestamptz
language sql stable parallel safe
as $$
    select case when substr(p_id::text, 15, 1) = '5' and pg_input_is_valid(s.said, 'timestamptz')
                then s.said::timestamptz end
    from (select coalesce(p_metadata ->> 'source_updated_at', p_metadata ->> 'source_created_at') as said) s
$$;
comment on function loci_internal.source_time(uuid, jsonb) is
    'When an imported memory was written in its own system; null for others.';
