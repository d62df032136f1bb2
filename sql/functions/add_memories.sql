-- Write items that name no lineage, all at once. Exact duplicates of each other or of what is open and current reinforce
-- that memory instead. The unique index memories_fold settles races: the loser of two equal writers reinforces.
-- Called by remember; internal.
create or replace function loci.add_memories(p_namespace_id integer, p_items loci.memory_input[], p_at timestamptz)
returns setof loci.memory_outcome
language plpgsql volatile set search_path = ''
as $$
begin
    return query
    with item as materialized (
        select i.*, row_number() over (partition by i.content_hash, i.fold_scope is null order by i.ordinal) as nth
        from unnest(p_items) i where i.lineage is null
    ), known as materialized (
        select distinct on (m.content_hash) m.content_hash, m.id
        from (select distinct content_hash from item where fold_scope is not null) i
        join loci.memories m on m.namespace_id = p_namespace_id and m.content_hash = i.content_hash
             and m.valid_to is null and m.status = 'active' and m.layer <> 3 and m.valid_from <= p_at
        order by m.content_hash, m.doc_id
    ), reinforced as (
        update loci.memories m
        set observations = m.observations + r.times, last_observed_at = p_at, updated_at = p_at
        from (select k.id, count(*)::integer as times from item i join known k using (content_hash)
              where i.fold_scope is not null group by k.id) r
        where m.namespace_id = p_namespace_id and m.id = r.id
    ), written as (
        insert into loci.memories as m (
            namespace_id, id, lineage, lineage_id, content, content_hash, fold_scope, category, tags, layer, parent_id,
            valid_from, valid_to, recorded_at, believed_at, importance, confidence, metadata, source, session_id,
            observations, last_observed_at, created_by, updated_at)
        select p_namespace_id, i.id, i.id::text, i.id, i.content, i.content_hash, i.fold_scope,
               coalesce(i.category, 'general'), coalesce(i.tags, '{}'), coalesce(i.layer, 2), i.parent_id,
               coalesce(i.valid_from, p_at), i.valid_to, p_at, p_at, coalesce(i.importance, 0.5), coalesce(i.confidence, 1.0),
               coalesce(i.metadata, '{}'), i.source, i.session_id,
               case when i.fold_scope is null then 1 else (select count(*) from item o where o.content_hash = i.content_hash
                                                           and o.fold_scope is not null) end, p_at, loci.caller(), p_at
        from item i
        where i.fold_scope is null or (i.nth = 1 and not exists (select from known k where k.content_hash = i.content_hash))
        order by i.ordinal
        on conflict (namespace_id, content_hash, fold_scope) where valid_to is null and status = 'active'
        do update set observations = m.observations + excluded.observations, last_observed_at = excluded.last_observed_at,
                      updated_at = excluded.updated_at
        returning m.id, m.content_hash, m.fold_scope
    )
    select i.ordinal, w.id, null::uuid, w.id <> i.id
    from item i join written w on w.id = i.id or (w.fold_scope = i.fold_scope and w.content_hash = i.content_hash)
    union all
    select i.ordinal, k.id, null::uuid, true
    from item i join known k on k.content_hash = i.content_hash where i.fold_scope is not null;
end $$;
comment on function loci.add_memories(integer, loci.memory_input[], timestamptz) is 'Insert memories without a lineage, folding exact duplicates. Internal.';
