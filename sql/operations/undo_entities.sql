-- Undo of entities and merges.

-- Entities that an operation changed become what they were before it: those that it removed come back, and what it made
-- them say of themselves is as before; names follow by trigger. Those that it wrote or brought back go last
-- (undo_new_entities). They are locked (lock_undone). p_left: those to leave alone. Returns how many changed.
-- Errors: 23505 (a name is taken).
create or replace function loci_internal.undo_entities(p_namespace_id integer, p_operation uuid, p_left uuid[])
returns integer
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_ids    uuid[] := array(select n.subject_id from loci_internal.net_changes(p_namespace_id, p_operation, 'entity') n
                             where not n.created and n.before is not null and n.subject_id <> all (p_left));
    v_back   uuid[];
    v_at     timestamptz := clock_timestamp();
    v_count  integer;
begin
    v_back := array(select n.subject_id from loci_internal.net_changes(p_namespace_id, p_operation, 'entity') n
                    where n.subject_id = any (v_ids) and (n.after ->> 'merged_into')::uuid = n.subject_id);
    if v_back <> '{}' then
        perform loci_internal.return_entities(p_namespace_id, v_back, v_at);
    end if;
    update loci_data.entities e
    set name = b.name, canonical_name = loci.canonical_name(b.name), type = b.type, aliases = b.aliases,
        description = b.description,
        metadata = b.metadata, pinned_at = b.pinned_at, pinned = b.pinned_at is not null,
        updated_at = greatest(e.updated_at, v_at)
    from (select c.subject_id as id, c.before - 'merged_into' as fields
          from loci_internal.net_changes(p_namespace_id, p_operation, 'entity') c offset 0) n
    cross join lateral (select x as entity from loci_data.entities x where x.namespace_id = p_namespace_id
                        and x.id = n.id limit 1) x
    cross join lateral jsonb_populate_record(x.entity, n.fields) b
    where e.namespace_id = p_namespace_id and e.id = any (v_ids) and e.id = n.id and e.merged_into is null
      and (b.name, b.type, b.aliases, b.description, b.metadata, b.pinned_at)
          is distinct from (e.name, e.type, e.aliases, e.description, e.metadata, e.pinned_at);
    get diagnostics v_count = row_count;
    return greatest(v_count, cardinality(v_back));
end $$;
comment on function loci_internal.undo_entities(integer, uuid, uuid[]) is
    'Make entities that an operation changed what they were before it; how many. Errors: 23505.';

-- Entities that an operation wrote, or brought back, are removed, unless something else rests on them by now: a
-- believed edge, an active attribute, a pin, or a mention by a memory in force that another operation found. Only edges
-- and attributes count of one that had been removed by hand before. History keeps them; undoing this brings them back
-- (remove_entities). p_left: those to leave alone. Returns how many went, and how many stay.
create or replace function loci_internal.undo_new_entities(p_namespace_id integer, p_operation uuid, p_left uuid[],
                                                           out removed integer, out kept integer)
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_new  uuid[] := array(select e.id from loci_internal.net_changes(p_namespace_id, p_operation, 'entity') n
                           cross join lateral (select x.id, x.merged_into from loci_data.entities x
                                               where x.namespace_id = p_namespace_id and x.id = n.subject_id limit 1) e
                           where e.merged_into is null and n.subject_id <> all (p_left) and n.after is not null
                             and (n.created or (n.before ->> 'merged_into')::uuid = n.subject_id));
    v_back uuid[] := array(select n.subject_id from loci_internal.net_changes(p_namespace_id, p_operation, 'entity') n
                           where not n.created);
    v_gone uuid[];
begin
    perform from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = any (v_new)
        order by e.canonical_name, e.id for update;
    v_gone := array(
        select u.id from unnest(v_new) u(id)
        where (u.id = any (v_back) or not exists (select from loci_data.entities e
                                                  where e.namespace_id = p_namespace_id and e.id = u.id
                                                    and e.pinned_at is not null))
          and not exists (select from loci_data.edges e where e.namespace_id = p_namespace_id and e.source_id = u.id
                          and e.superseded_at is null)
          and not exists (select from loci_data.edges e where e.namespace_id = p_namespace_id and e.target_id = u.id
                          and e.superseded_at is null)
          and not exists (select from loci_data.aspects s
                          cross join lateral (select from loci_data.attributes a where a.namespace_id = p_namespace_id
                                              and a.aspect_id = s.id
                                              and a.status = 'active' limit 1) a
                          where s.namespace_id = p_namespace_id and s.entity_id = u.id)
          and (u.id = any (v_back) or not exists (select from loci_data.memory_mentions m
                          cross join lateral (select from loci_data.memories o where o.namespace_id = p_namespace_id
                                              and o.id = m.memory_id
                                              and o.status = 'active' limit 1) o
                          where m.namespace_id = p_namespace_id and m.entity_id = u.id and m.operation_id
                              is distinct from p_operation)));
    if v_gone <> '{}' then
        v_gone := loci_internal.remove_entities(p_namespace_id, v_gone, clock_timestamp());
    end if;
    removed := cardinality(v_gone);
    kept := cardinality(v_new) - removed;
end $$;
comment on function loci_internal.undo_new_entities(integer, uuid, uuid[]) is
    'Remove the entities that an operation wrote and nothing else rests on; how many went, and how many stay.';

-- Merges and splits that an operation made are undone, the newest first, by the rules of undoing a merge; those that it
-- undid are made again. A merge that was undone and made again since counts as the one in force between the two.
-- Entities, edges and aspects follow; nobody inverts them one by one. Where a split is taken back, the name that it
-- made up is none again. The caller holds lock_merges. Returns how many. Errors: 23505 (undone already, moved on
-- since, name taken), 22023, 40001.
create or replace function loci_internal.undo_merges(p_namespace_id integer, p_namespace text, p_operation uuid)
returns integer
language plpgsql volatile set search_path = ''
as $$
declare
    v_merge   record;
    v_id      uuid;
    v_aliases jsonb;  -- of entities that were split, as they were before the operation
    v_count   integer := 0;
begin
    select jsonb_object_agg(e.id, coalesce(n.before -> 'aliases', to_jsonb(e.aliases))) into v_aliases
    from loci_internal.net_merge_changes(p_namespace_id, p_operation) g
    join loci_data.entity_merges m on m.namespace_id = p_namespace_id and m.id = g.id and m.kind = 'split'
    join loci_data.entities e on e.namespace_id = p_namespace_id and e.id = m.kept_id
    left join loci_internal.net_changes(p_namespace_id, p_operation, 'entity') n on n.subject_id = e.id;
    for v_merge in
        select m.*, n.created, n.was_undone_at from loci_internal.net_merge_changes(p_namespace_id, p_operation) n
        join loci_data.entity_merges m on m.namespace_id = p_namespace_id and m.id = n.id order by m.id desc
    loop
        v_id := (select m.id from loci_data.entity_merges m
                 where m.namespace_id = p_namespace_id and m.kept_id = v_merge.kept_id
                   and m.merged_id = v_merge.merged_id
                   and m.kind = v_merge.kind and m.undone_at is null and m.id >= v_merge.id order by m.id desc limit 1);
        if v_merge.created then
            perform loci_api.undo_merge(p_namespace, coalesce(v_id, v_merge.id));
        -- the merge that undid it, which is newer, has been undone or made again before this one
        elsif v_merge.kind = 'split' then
            update loci_data.entity_merges m set undone_at = v_merge.was_undone_at
            where m.namespace_id = p_namespace_id and m.id = v_merge.id;
        elsif v_id is null then
            perform loci_internal.apply_entity_merge(p_namespace_id, v_merge.kept_id, v_merge.merged_id,
                                                     format('again, as by %s', v_merge.id), v_merge.automatic);
        else
            raise unique_violation using column = 'id',
                message = format('the two entities were merged again later, by merge %s', v_id);
        end if;
        if v_merge.kind = 'split' and (v_merge.created or v_merge.was_undone_at is not null) then
            update loci_data.entities e set aliases = a.aliases, updated_at = clock_timestamp()
            from (select array(select jsonb_array_elements_text(v_aliases -> v_merge.kept_id::text)) as aliases) a
            where e.namespace_id = p_namespace_id and e.id = v_merge.kept_id and e.aliases <> a.aliases;
        end if;
        v_count := v_count + 1;
    end loop;
    return v_count;
end $$;
comment on function loci_internal.undo_merges(integer, text, uuid) is
    'Undo the merges and splits of an operation, and make again those that it undid; how many. Errors: 23505, 22023, '
    '40001.';
