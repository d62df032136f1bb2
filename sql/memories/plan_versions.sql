-- Where do items that name a lineage, at most one for each, stand in its chain? What each repeats, when it is recorded,
-- its validity (from its start to its end, or to the start of the version after), the version that it ends and whether
-- that goes on after it. A correction takes the validity of the version that it corrects; what ended where that one
-- began lasts until the new one begins. An item that repeats the version of now is a repetition, where that version is
-- open, or lasts until an announced one. Details that are not stated: see complete_memory_details. Index look-ups,
-- planned for any namespace: in one that the statistics do not know yet, every index that begins with it looks as good.
create or replace function loci_internal.plan_versions(p_namespace_id integer, p_items loci_internal.memory_input[],
                                                       p_at timestamptz)
returns loci_internal.memory_input[]
language plpgsql stable set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
begin
    return (
    select array_agg((i.ordinal, i.round, coalesce(same.id, announced.id, i.id), i.content, i.content_hash,
                      i.fold_scope, i.lineage, i.parent_id, start.valid_from, final.valid_to, i.source, i.session_id,
                      i.embedding, i.corrects, clock.recorded_at, ended.id,
                      ended.id is not null and final.valid_to < coalesce(ended.valid_to, 'infinity'), longer.id,
                      least(start.valid_from, longer.until),
                      coalesce(same.id, announced.id) is not null, i.on_duplicate,
                      loci_internal.complete_memory_details(i.details, last.details))::loci_internal.memory_input
                     order by i.ordinal)
    from unnest(p_items) i
    cross join lateral (select o.id, o.written_at from loci_data.lineages o
                        where o.namespace_id = p_namespace_id and o.lineage = i.lineage limit 1) l
    left join lateral (select m.believed_at, loci.memory_details(m) as details from loci_data.memories m
                       where m.namespace_id = p_namespace_id and m.lineage = i.lineage
                       order by m.version desc limit 1) last on true
    left join lateral (
        select m.id from loci_data.memories m
        where m.namespace_id = p_namespace_id and m.lineage = i.lineage and i.fold_scope is not null
          and m.content_hash = i.content_hash and m.valid_to is null and m.status = 'active'
          and m.layer <> 3 and m.valid_from <= greatest(p_at, m.recorded_at) limit 1) same on true
    left join lateral (select m.valid_from, m.valid_to from loci_data.memories m
                       where m.namespace_id = p_namespace_id and m.id = i.corrects limit 1) wrong on true
    cross join lateral (select greatest(p_at, l.written_at + interval '1 microsecond',
                                        last.believed_at + interval '1 microsecond') as recorded_at) clock
    cross join lateral (select coalesce(i.valid_from, wrong.valid_from, clock.recorded_at) as valid_from) start
    left join lateral (
        select n.* from (
            select m.id, m.valid_to, m.content_hash, m.layer from loci_data.memories m
            where m.namespace_id = p_namespace_id and m.lineage_id = l.id and m.status = 'active' and m.id
                is distinct from i.corrects
              and m.valid_from <= start.valid_from and (m.valid_to is null or m.valid_to > m.valid_from)
            order by m.valid_from desc limit 1) n
        where (n.valid_to is null or n.valid_to > start.valid_from)  -- what is never true ends nothing
          and coalesce(i.valid_to, wrong.valid_to, 'infinity') > start.valid_from) ended on true
    left join lateral (
        select m.valid_from from loci_data.memories m
        where m.namespace_id = p_namespace_id and m.lineage_id = l.id and m.status = 'active' and m.id
            is distinct from i.corrects
          and m.valid_from > start.valid_from and (m.valid_to is null or m.valid_to > m.valid_from)
        order by m.valid_from limit 1) next on true
    left join lateral (select ended.id where i.fold_scope is not null and ended.content_hash = i.content_hash
                       and ended.layer <> 3 and ended.valid_to = next.valid_from) announced on true
    left join lateral (
        select m.id, (select min(n.valid_from) from loci_data.memories n
                      where n.namespace_id = p_namespace_id and n.lineage_id = l.id and n.status = 'active'
                        and n.id <> i.corrects
                        and n.valid_from > wrong.valid_from
                        and (n.valid_to is null or n.valid_to > n.valid_from)) as until
        from loci_data.memories m
        where m.namespace_id = p_namespace_id and m.lineage_id = l.id and m.status = 'active'
          and m.valid_from < wrong.valid_from
          and m.valid_to = wrong.valid_from and start.valid_from > wrong.valid_from
        order by m.valid_from desc limit 1) longer on true
    cross join lateral (select least(coalesce(i.valid_to, wrong.valid_to), next.valid_from) as valid_to) final);
end $$;
comment on function loci_internal.plan_versions(integer, loci_internal.memory_input[], timestamptz) is
    'Place new versions in the chains of their lineages.';
