-- Reversal of a merge.

-- Undo a merge: the merged entity stands for itself again. Everything that moved goes back, as far as it is still
-- there: edges (return_edges), mentions, aspects with everything under them, attributes, names.
-- Edges and aspects that were written to the kept one since stay with it; fields of the kept one: restore_kept_entity.
-- The caller holds lock_merges. Errors: 23505 (its name has been taken), 40001.
create or replace function loci_internal.reverse_entity_merge(p_namespace_id integer, p_merge loci_data.entity_merges)
returns void
language plpgsql volatile set search_path = '' set timezone = 'UTC' set enable_seqscan = off
as $$
declare
    v_at     timestamptz := loci_internal.lock_entities(p_namespace_id, array[p_merge.kept_id, p_merge.merged_id]);
    v_merged loci_data.entities;
    v_moved  jsonb := p_merge.moved;
begin
    select * into v_merged from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = p_merge.merged_id;
    if exists (select from loci_data.entities e where e.namespace_id = p_namespace_id
               and e.canonical_name = v_merged.canonical_name and e.merged_into is null) then
        raise unique_violation using message = format('an entity named %L exists by now', v_merged.name),
            constraint = 'entities_canonical_name_key',
            hint = 'Rename it first.';
    end if;
    update loci_data.entities e set merged_into = null, merged_at = null, updated_at = v_at
    where e.namespace_id = p_namespace_id and e.id = p_merge.merged_id;
    perform loci_internal.restore_kept_entity(p_namespace_id, p_merge, v_merged, v_at);
    update loci_data.attributes t set aspect_id = (m ->> 1)::uuid
    from jsonb_array_elements(v_moved -> 'attributes') m
    -- wherever the aspect that it was moved to is by now
    where t.namespace_id = p_namespace_id and t.id = (m ->> 0)::uuid
      and exists (select from loci_data.aspects a where a.namespace_id = p_namespace_id and a.id = (m ->> 1)::uuid);
    perform loci_internal.move_aspects(p_namespace_id, p_merge.kept_id, p_merge.merged_id,
                                       array(select (a #>> '{}')::uuid
                                             from jsonb_array_elements(v_moved -> 'aspects') a), v_at);
    perform loci_internal.move_mentions(p_namespace_id, p_merge.kept_id, p_merge.merged_id,
                                        array(select (m #>> '{}')::uuid
                                              from jsonb_array_elements(v_moved -> 'mentions') m));
    perform loci_internal.share_sessions(p_namespace_id, p_merge.merged_id, p_merge.kept_id, true);
    perform loci_internal.return_edges(p_namespace_id, p_merge.id, p_merge.merged_id, v_at);
    update loci_data.entity_merges m  -- what later merges took for the kept one's own, and was not
    set moved = m.moved || (select coalesce(jsonb_object_agg(f.key, v_moved -> f.key), '{}')
                            from jsonb_each(to_jsonb(v_merged)) f
                            where f.key in ('confidence', 'first_seen_at', 'last_referenced_at')
                              and m.moved -> f.key = f.value)
    where m.namespace_id = p_namespace_id and m.kept_id = p_merge.kept_id and m.id > p_merge.id and m.kind = 'merge'
      and m.undone_at is null;
    update loci_data.entity_merges m set undone_at = v_at where m.namespace_id = p_namespace_id and m.id = p_merge.id;
end $$;
comment on function loci_internal.reverse_entity_merge(integer, loci_data.entity_merges) is
    'Give a merged entity back what was its own. Errors: 23505, 40001.';

-- Fields of the kept entity go back where they still are as the merge made them; else they were changed since, and
-- stay. p_merged: the merged entity.
create or replace function loci_internal.restore_kept_entity(
    p_namespace_id integer, p_merge loci_data.entity_merges, p_merged loci_data.entities, p_at timestamptz)
returns void
language plpgsql volatile
as $$
declare
    v_moved  jsonb := p_merge.moved;
    v_before loci_data.entity_beliefs;
    v_others record;  -- of what else is merged into the kept one
begin
    select * into v_before from loci_data.entity_beliefs b
    where b.namespace_id = p_namespace_id and b.entity_id = p_merge.kept_id
      and b.believed_to = (v_moved ->> 'believed_to')::timestamptz;
    select min(e.first_seen_at) as first_seen_at, max(e.confidence) as confidence into v_others
    from loci_data.entities e
    where e.namespace_id = p_namespace_id and e.merged_into = p_merge.kept_id and e.id <> p_merge.merged_id;
    update loci_data.entities e
    set aliases = array(select a.alias from unnest(e.aliases) with ordinality a(alias, place)
                        where hashtextextended(loci.canonical_name(a.alias), 0) <> all (array(
                            select jsonb_array_elements(v_moved -> 'aliases')::bigint))
                        order by a.place),
        type = case when e.type = p_merged.type and loci_internal.entity_type_is_vaguer(v_before.type, e.type)
            then v_before.type else e.type end,
        description = case when v_before.entity_id is not null and v_before.description is null
            and e.description = p_merged.description then null else e.description end,
        metadata = e.metadata - array(select m.key from jsonb_each(p_merged.metadata) m
                                      where v_before.entity_id is not null and not v_before.metadata ? m.key
                                        and e.metadata -> m.key = m.value),
        confidence = case when e.confidence = p_merged.confidence
                          then greatest((v_moved ->> 'confidence')::double precision, v_others.confidence)
                              else e.confidence end,
        observations = greatest(e.observations - p_merged.observations, 0),
        pinned_at = case when v_before.entity_id is not null and v_before.pinned_at is null
            and e.pinned_at = p_merged.pinned_at then null else e.pinned_at end,
        pinned = e.pinned and not
            coalesce(v_before.entity_id is not null and v_before.pinned_at is null
                     and e.pinned_at = p_merged.pinned_at, false),
        first_seen_at = case when e.first_seen_at = p_merged.first_seen_at
                             then least((v_moved ->> 'first_seen_at')::timestamptz, v_others.first_seen_at)
                                 else e.first_seen_at end,
        last_referenced_at = case when e.last_referenced_at = p_merged.last_referenced_at
            then (v_moved ->> 'last_referenced_at')::timestamptz else e.last_referenced_at end,
        updated_at = p_at
    where e.namespace_id = p_namespace_id and e.id = p_merge.kept_id;
end $$;
comment on function loci_internal.restore_kept_entity(
    integer, loci_data.entity_merges, loci_data.entities, timestamptz) is
    'Give the kept entity of a merge back what it was before.';

-- Undo what a merge did to edges. Each edge of the merged entity is recorded anew at its own end, with the evidence
-- that it had and what is left of it; the edge that holds that evidence now (edges_moved_by_merge) is closed, and
-- recorded anew with the rest: what the kept entity had itself, and what was observed since. Things that were taken
-- back or erased since stay so. Both entities are the caller's.
create or replace function loci_internal.return_edges(p_namespace_id integer, p_merge_id uuid, p_merged uuid,
                                                      p_at timestamptz) returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = force_custom_plan set enable_seqscan = off
as $$
declare
    v_found jsonb := (select coalesce(jsonb_agg(to_jsonb(m)), '[]')
                      from loci_internal.edges_moved_by_merge(p_namespace_id, p_merge_id) m);
    v_ids   uuid[] := array(select distinct f.at_id from jsonb_to_recordset(v_found) f(at_id uuid, believed boolean)
                            where f.believed);
    v_plan  jsonb;
begin
    perform from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any(v_ids) order by e.id for update;
    v_plan := loci_internal.edges_returned_by_split(p_namespace_id, v_found, p_merged)
        || loci_internal.edges_staying_after_split(p_namespace_id, v_found);
    perform loci_internal.close_edges(p_namespace_id, v_ids, p_at);
    perform loci_internal.record_edges(p_namespace_id, v_plan, v_ids, p_at);
    insert into loci_data.edge_moves (namespace_id, merge_id, old_id, new_id, part)
    select distinct p_namespace_id, p_merge_id, r.old_id, p.id, 'undone'
    from jsonb_to_recordset(v_plan) p(id uuid, replaces uuid[]) cross join lateral unnest(p.replaces) r(old_id);
end $$;
comment on function loci_internal.return_edges(integer, uuid, uuid, timestamptz) is
    'Give edges back to the entity that they were merged from.';

-- The edges that undoing a merge gives back, for record_edges: the end that was the merged entity is it again, the
-- other end is where the edge has it by now. Two that have met meanwhile are one. p_found: rows of
-- edges_moved_by_merge.
create or replace function loci_internal.edges_returned_by_split(p_namespace_id integer, p_found jsonb, p_merged uuid)
returns jsonb
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with found as materialized (
        select f.*, case when e.source_id = p_merged then p_merged
            else loci_internal.surviving_entity_id(p_namespace_id, n.source_id) end as source_id,
               e.type, case when e.target_id = p_merged then p_merged
                   else loci_internal.surviving_entity_id(p_namespace_id, n.target_id) end as target_id, e.literal
        from jsonb_to_recordset(p_found) f(old_id uuid, at_id uuid, base_id uuid, believed boolean, back uuid[])
        join loci_data.edges e on e.namespace_id = p_namespace_id and e.id = f.old_id
        join loci_data.edges n on n.namespace_id = p_namespace_id and n.id = f.at_id
    ), shown as (
        select f.source_id, f.type, f.target_id, f.literal, array_agg(distinct b) as ids
        from found f cross join lateral unnest(f.back) b group by f.source_id, f.type, f.target_id, f.literal
    ), gathered as (
        select f.source_id, f.type, f.target_id, f.literal, array_agg(distinct f.base_id) as base,
               array_agg(distinct f.at_id) as replaces
        from found f group by f.source_id, f.type, f.target_id, f.literal
    )
    select coalesce(
        jsonb_agg(jsonb_build_object('id', g.id, 'source_id', g.source_id, 'target_id', g.target_id, 'base', g.base,
                                                 'evidence', s.ids, 'replaces', g.replaces)), '[]')
    from (select loci_api.uuid7() as id, o.* from (select * from gathered order by base) o) g
    left join shown s on s.source_id = g.source_id and s.type = g.type and s.target_id is not distinct from g.target_id
         and s.literal is not distinct from g.literal
$$;
comment on function loci_internal.edges_returned_by_split(integer, jsonb, uuid) is
    'Edges to record when a merge is undone, at the merged entity.';

-- Refuse to undo a merge or a split whose entities or edges were merged again later, or removed. Errors: 23505.
create or replace function loci_internal.refuse_later_merge(p_namespace_id integer, p_merge loci_data.entity_merges)
returns void
language plpgsql stable set search_path = ''
as $$
declare
    v_later   uuid;
    v_removed text;
begin
    select m.id into v_later
    from loci_data.entity_merges m
    join loci_data.entities e on e.namespace_id = p_namespace_id and e.id = m.merged_id and e.merged_into = m.kept_id
    where m.namespace_id = p_namespace_id and m.kind = 'merge' and m.undone_at is null and m.id <> p_merge.id
      and (m.merged_id = p_merge.kept_id or p_merge.kind = 'split' and m.merged_id = p_merge.merged_id)
    order by m.id desc limit 1;
    if not found then  -- or edges of it have been moved on
        select g.id into v_later
        from loci_data.edge_moves m
        join loci_data.edge_moves n on n.namespace_id = p_namespace_id and n.old_id = m.new_id and n.part <> 'undone'
             and n.merge_id <> p_merge.id
        join loci_data.entity_merges g on g.namespace_id = p_namespace_id and g.id = n.merge_id and g.undone_at is null
             and g.id > p_merge.id
        where m.namespace_id = p_namespace_id and m.merge_id = p_merge.id
        order by g.id desc limit 1;
    end if;
    if found then
        raise unique_violation using message = format('what it merged was merged again later, by merge %s', v_later),
            column = 'id',
            hint = 'Undo that one first.';
    end if;
    select e.name into v_removed from loci_data.entities e
    where e.namespace_id = p_namespace_id and e.id in (p_merge.kept_id, p_merge.merged_id) and e.merged_into = e.id
    order by e.id limit 1;
    if found then
        raise unique_violation using message = format('%L was removed since', v_removed), column = 'id',
            hint = 'Undo its removal first.';
    end if;
end $$;
comment on function loci_internal.refuse_later_merge(integer, loci_data.entity_merges) is
    'Refuse to undo a merge that later ones rest on.';

-- Undo a merge, or a split. Merges may be undone in any order, unless a later one moved the same things again (the kept
-- entity, or an edge that this one moved): that one is undone first. Undoing a split is a merge of the two, which can
-- be undone again; its id is returned. Undoing twice is a conflict. p_choice: {keep_names?, edge_ids?}. Undoing a split
-- makes the names of the part aliases of the whole; keep_names false: only those that it had before. Undoing a merge
-- leaves edges that were written since with the kept one, but for edge_ids (edges_written_since). The reply says what
-- stays. Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002, 23505 (undone
-- already, merged or removed since, name taken), 40001.
create or replace function loci_api.undo_merge(p_namespace text, p_id uuid, p_choice jsonb default '{}')
returns table (merge_id uuid, kept_id uuid, merged_id uuid, aliases text[], edges jsonb)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_merge        loci_data.entity_merges;
begin
    perform loci_internal.lock_merges(v_namespace_id);
    select m.* into v_merge from loci_data.entity_merges m where m.namespace_id = v_namespace_id and m.id = p_id;
    if not found then
        raise no_data_found using message = format('merge %s does not exist', p_id), column = 'id';
    elsif v_merge.undone_at is not null then
        raise unique_violation using message = format('merge %s was undone already', p_id), column = 'id';
    end if;
    perform loci_internal.refuse_later_merge(v_namespace_id, v_merge);
    aliases := '{}';
    edges := '[]';
    if v_merge.kind = 'merge' then
        perform loci_internal.reverse_entity_merge(v_namespace_id, v_merge);
        perform loci_internal.give_edges_written_since(v_namespace_id, v_merge, p_choice);
        edges := loci_internal.edges_written_since(v_namespace_id, v_merge.kept_id, v_merge.decided_at);
    else
        select u.merge_id, u.aliases into merge_id, aliases
        from loci_internal.undo_split(v_namespace_id, v_merge,
                                      coalesce((p_choice ->> 'keep_names')::boolean, true)) u;
        update loci_data.entity_merges m set undone_at = greatest(clock_timestamp(), m.decided_at)
        where m.namespace_id = v_namespace_id and m.id = p_id;
    end if;
    kept_id := v_merge.kept_id;
    merged_id := v_merge.merged_id;
    return next;
end $$;
comment on function loci_api.undo_merge(text, uuid, jsonb) is
    'Undo a merge or a split ({keep_names?, edge_ids?}); the two entities, what stays with the kept one, and for a '
    'split the merge that joins them again. Errors: 42501, P0002, 23505, 40001.';
