-- Write items that name a lineage, at most one for each: a new version, placed in the chain by its valid_from (row M2).
-- The version valid at that moment ends there; the next one limits the new one. An error corrected (the same valid_from)
-- leaves the old version valid never. Lineage rows are locked by the caller, so nobody else writes these chains.
-- A write without valid_from comes after every version already recorded, even if the clock went back. Internal.
create or replace function loci.supersede_memories(p_namespace_id integer, p_items loci.memory_input[], p_at timestamptz)
returns setof loci.memory_outcome
language plpgsql volatile set search_path = ''
set enable_seqscan = off
as $$
declare
    v_plan loci.memory_input[];
begin
    -- What each item repeats (then it only reinforces), and what it ends.
    select array_agg((i.ordinal, i.round, coalesce(same.id, i.id), i.content, i.content_hash, i.fold_scope, i.lineage,
                      coalesce(i.category, last.category, 'general'), coalesce(i.tags, last.tags, '{}'),
                      coalesce(i.layer, last.layer, 2), coalesce(i.parent_id, last.parent_id), start.valid_from,
                      least(i.valid_to, next.valid_from), coalesce(i.importance, last.importance, 0.5),
                      coalesce(i.confidence, 1.0), coalesce(i.metadata, '{}'), i.source, i.session_id, i.embedding,
                      start.recorded_at, case when same.id is null then ended.id end, same.id is not null)::loci.memory_input
                     order by i.ordinal)
    into v_plan
    from unnest(p_items) i
    left join lateral (select m.* from loci_data.memories m where m.namespace_id = p_namespace_id and m.lineage = i.lineage
                       order by m.version desc limit 1) last on true
    left join lateral (
        select m.id from loci_data.memories m
        where m.namespace_id = p_namespace_id and m.lineage = i.lineage and i.fold_scope is not null
          and m.content_hash = i.content_hash and m.valid_to is null and m.status = 'active'
          and m.layer <> 3 and m.valid_from <= greatest(p_at, m.recorded_at) limit 1) same on true
    cross join lateral (
        select greatest(p_at, max(greatest(m.recorded_at, m.believed_at)) + interval '1 microsecond') as recorded_at
        from loci_data.memories m where m.namespace_id = p_namespace_id and m.lineage = i.lineage) clock
    cross join lateral (select clock.recorded_at, coalesce(i.valid_from, clock.recorded_at) as valid_from) start
    left join lateral (
        select m.id from loci_data.memories m
        where m.namespace_id = p_namespace_id and m.lineage = i.lineage and m.status = 'active'
          and m.valid_from <= start.valid_from and (m.valid_to is null or m.valid_to > start.valid_from)
        order by m.valid_from desc limit 1) ended on true
    left join lateral (
        select m.valid_from from loci_data.memories m
        where m.namespace_id = p_namespace_id and m.lineage = i.lineage and m.status = 'active'
          and m.valid_from > start.valid_from and (m.valid_to is null or m.valid_to > m.valid_from)
        order by m.valid_from limit 1) next on true;

    update loci_data.memories m
    set observations = m.observations + 1, last_observed_at = i.recorded_at, updated_at = i.recorded_at
    from unnest(v_plan) i
    where i.duplicate and m.namespace_id = p_namespace_id and m.id = i.id;

    update loci_data.memories m
    set valid_to = i.valid_from, superseded_at = coalesce(m.superseded_at, i.recorded_at), updated_at = i.recorded_at
    from unnest(v_plan) i
    where m.namespace_id = p_namespace_id and m.id = i.superseded;

    update loci_data.lineages l set versions = l.versions + 1
    from unnest(v_plan) i where not i.duplicate and l.namespace_id = p_namespace_id and l.lineage = i.lineage;

    insert into loci_data.memories (
        namespace_id, id, lineage, lineage_id, version, content, content_hash, fold_scope, category, tags, layer, parent_id,
        valid_from, valid_to, recorded_at, believed_at, importance, confidence, metadata, source, session_id,
        last_observed_at, created_by, updated_at)
    select p_namespace_id, i.id, i.lineage, l.id, l.versions, i.content, i.content_hash, i.fold_scope, i.category, i.tags,
           i.layer, i.parent_id, i.valid_from, i.valid_to, i.recorded_at, i.recorded_at, i.importance, i.confidence, i.metadata,
           i.source, i.session_id, i.recorded_at, (select loci.caller()), i.recorded_at
    from unnest(v_plan) i join loci_data.lineages l on l.namespace_id = p_namespace_id and l.lineage = i.lineage
    where not i.duplicate order by i.ordinal;

    return query select i.ordinal, i.id, i.superseded, i.duplicate from unnest(v_plan) i;
end $$;
comment on function loci.supersede_memories(integer, loci.memory_input[], timestamptz) is 'Insert new versions of locked lineages, ending what they supersede. Internal.';
