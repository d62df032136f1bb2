-- Splits of merged entities.

-- Refuse a split that names edges, memories or aspects which an entity does not have. Errors: P0002 naming the field.
create or replace function loci_internal.check_split(p_namespace_id integer, p_entity loci_data.entities, p_split jsonb)
returns void
language plpgsql stable set search_path = ''
as $$
declare
    v_wrong record;
begin
    select w.field, w.id into v_wrong
    from (select 'edge_ids' as field, i as id,
          exists (select from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = i::uuid
                 and p_entity.id in (e.source_id, e.target_id) and e.superseded_at is null) as there
          from jsonb_array_elements_text(coalesce(nullif(p_split -> 'edge_ids', 'null'), '[]')) i
          union all
          select 'memory_ids', i, exists (select from loci_data.memory_mentions m where m.namespace_id = p_namespace_id
                                          and m.memory_id = i::uuid and m.entity_id = p_entity.id)
          from jsonb_array_elements_text(coalesce(nullif(p_split -> 'memory_ids', 'null'), '[]')) i
          union all
          select 'aspect_ids', i,
                 exists (select from loci_data.aspects a where a.namespace_id = p_namespace_id and a.id = i::uuid
                         and a.entity_id = p_entity.id)
          from jsonb_array_elements_text(coalesce(nullif(p_split -> 'aspect_ids', 'null'), '[]')) i) w
    where not w.there limit 1;
    if found then
        raise no_data_found using message = format('%L has no such %s: %s', p_entity.name,
                                                   replace(v_wrong.field, '_ids', ''), v_wrong.id),
                                                   column = v_wrong.field;
    end if;
end $$;
comment on function loci_internal.check_split(integer, loci_data.entities, jsonb) is
    'Refuse a split that names what an entity does not have.';

-- Ids that a split names in one of its lists; none where it names none. Pure.
create or replace function loci_internal.split_ids(p_split jsonb, p_list text) returns uuid[]
language sql immutable set search_path = ''
return array(select jsonb_array_elements_text(coalesce(nullif(p_split -> p_list, 'null'), '[]'))::uuid);
comment on function loci_internal.split_ids(jsonb, text) is
    'Ids in a list of a split.';

-- One entity is two: a new one comes out of it, with the edges, mentions (memory_ids) and aspects that are named, and
-- aliases, which the old one loses. p_split: {name, type?, aliases?, edge_ids?, memory_ids?, aspect_ids?, reason?}. The
-- name may be an alias of the old one; the type is the old one's unless stated. Undone like a merge. Returns the id of
-- the split, and of the new entity. Security definer: writes past the policies; checks the caller itself. Errors:
-- 42501, P0002 (entity; an edge, memory or aspect that it does not have), 22023, 23505 (the name is taken), 40001.
create or replace function loci_api.split_entity(p_namespace text, p_ref text, p_split jsonb)
returns table (merge_id uuid, id uuid)
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'writer');
    v_new    record;
    v_old    loci_data.entities;
    v_at     timestamptz;
    v_names  text[];
begin
    perform loci_internal.lock_merges(v_ns);
    select * into v_new from loci_internal.parse_entities(jsonb_build_array(p_split));
    v_at := loci_internal.lock_entities(v_ns, loci_internal.resolve_entities(v_ns, array[p_ref], 'id'));
    select e.* into v_old from loci_data.entities e where e.namespace_id = v_ns
        and e.id = loci_internal.find_entity_id(v_ns, p_ref);
    if not found then
        raise serialization_failure using message = 'the entity was removed meanwhile', hint = 'Try again.';
    end if;
    perform loci_internal.check_split(v_ns, v_old, p_split);
    if exists (select from loci_data.entities e where e.namespace_id = v_ns
                  and e.canonical_name = v_new.canonical_name and e.merged_into is null) then
        raise unique_violation using message = format('an entity named %L exists', v_new.name), column = 'name',
            constraint = 'entities_canonical_name_key';
    end if;
    id := loci_api.uuid7();
    merge_id := loci_api.uuid7();
    v_names := array(select loci.canonical_name(n) from unnest(v_new.aliases || v_new.name) n);
    update loci_data.entities e
    set aliases = array(select a.alias from unnest(e.aliases) with ordinality a(alias, place)
                        where loci.canonical_name(a.alias) <> all (v_names) order by a.place),
        updated_at = v_at
    where e.namespace_id = v_ns and e.id = v_old.id;
    insert into loci_data.entities (namespace_id, id, name, canonical_name, type, aliases, confidence, first_seen_at,
                                    created_at, updated_at)
    values (v_ns, split_entity.id, v_new.name, v_new.canonical_name, coalesce(v_new.type, v_old.type),
            loci_internal.clean_aliases(v_new.aliases, v_new.canonical_name),
            v_old.confidence, least(v_old.first_seen_at, v_at), v_at, v_at);
    insert into loci_data.entity_merges (namespace_id, id, kind, kept_id, merged_id, reason, decided_at, decided_by)
    values (v_ns, merge_id, 'split', v_old.id, split_entity.id, left(p_split ->> 'reason', 1000), v_at,
            loci.current_agent());
    perform loci_internal.move_aspects(v_ns, v_old.id, split_entity.id, loci_internal.split_ids(p_split, 'aspect_ids'),
                                       v_at);
    perform loci_internal.move_mentions(v_ns, v_old.id, split_entity.id,
                                        loci_internal.split_ids(p_split, 'memory_ids'));
    perform loci_internal.move_edges(v_ns, merge_id, v_old.id, split_entity.id,
                                     loci_internal.split_ids(p_split, 'edge_ids'), v_at);
    return next;
end $$;
comment on function loci_api.split_entity(text, text, jsonb) is
    'Make a new entity of a part of one: {name, type?, aliases?, edge_ids?, memory_ids?, aspect_ids?, reason?}; id of '
    'the split and of the new entity. Errors: 42501, P0002, 22023, 23505, 40001.';

-- Which edges of an entity did somebody write since a moment, the newest 100? Under which of its names is not known. As
-- JSON [{id, source, type, target, literal}]. Indexes edges_source, edges_target, edge_observations_edge.
create or replace function loci_internal.edges_written_since(p_namespace_id integer, p_entity_id uuid,
                                                             p_since timestamptz) returns jsonb
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with near as (
        select e.id, e.source_id, e.type, e.target_id, e.literal from loci_data.edges e
        where e.namespace_id = p_namespace_id and e.source_id = p_entity_id and e.superseded_at is null
        union
        select e.id, e.source_id, e.type, e.target_id, e.literal from loci_data.edges e
        where e.namespace_id = p_namespace_id and e.target_id = p_entity_id and e.superseded_at is null
    ), written as (
        select n.*, o.at from near n
        cross join lateral (select max(v.recorded_at) as at from loci_data.edge_observations v
                            where v.namespace_id = p_namespace_id and v.edge_id = n.id) o
        where o.at > p_since order by o.at desc, n.id desc limit 100
    )
    select coalesce(jsonb_agg(jsonb_build_object('id', w.id, 'source', s.name, 'type', w.type, 'target', t.name,
                                                 'literal', w.literal) order by w.at desc, w.id desc), '[]')
    from written w
    join loci_data.entities s on s.namespace_id = p_namespace_id and s.id = w.source_id
    left join loci_data.entities t on t.namespace_id = p_namespace_id and t.id = w.target_id
$$;
comment on function loci_internal.edges_written_since(integer, uuid, timestamptz) is
    'Edges of an entity that were written since a moment, as JSON.';

-- When a merge was undone: the edges of the kept entity that p_choice names (edge_ids, as they are or were before)
-- go to the other, with all their evidence. They stand in edge_moves under a split of their own, which is undone
-- already. Errors: P0002 (an edge that the kept one does not have).
create or replace function loci_internal.give_edges_written_since(
    p_namespace_id integer, p_merge loci_data.entity_merges, p_choice jsonb) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_asked uuid[] := array(select i::uuid from jsonb_array_elements_text(
                                coalesce(nullif(p_choice -> 'edge_ids', 'null'), '[]')) i);
    v_ids   uuid[];
    v_wrong uuid;
    v_id    uuid := loci_api.uuid7();
    v_at    timestamptz;
begin
    if v_asked = '{}' then
        return;
    end if;
    v_at := loci_internal.lock_entities(p_namespace_id, array[p_merge.kept_id, p_merge.merged_id]);
    select a.id into v_wrong from unnest(v_asked) a(id)
    where not exists (select from loci_data.edges e
                      where e.namespace_id = p_namespace_id and p_merge.kept_id in (e.source_id, e.target_id)
                        and e.id = loci_internal.current_edge_id(p_namespace_id, a.id)) limit 1;
    if found then
        raise no_data_found using column = 'edge_ids',
            message = format('the kept entity has no such edge: %s', v_wrong);
    end if;
    v_ids := array(select loci_internal.current_edge_id(p_namespace_id, a.id) from unnest(v_asked) a(id));
    insert into loci_data.entity_merges (namespace_id, id, kind, kept_id, merged_id, reason, decided_at, decided_by,
                                         undone_at)
    values (p_namespace_id, v_id, 'split', p_merge.kept_id, p_merge.merged_id,
            format('edges that went with undoing the merge %s', p_merge.id), v_at, loci.current_agent(), v_at);
    perform loci_internal.move_edges(p_namespace_id, v_id, p_merge.kept_id, p_merge.merged_id, v_ids, v_at);
end $$;
comment on function loci_internal.give_edges_written_since(integer, loci_data.entity_merges, jsonb) is
    'Give edges of the kept entity to the one that was merged into it, when the merge is undone. Errors: P0002.';

-- Undo a split: a merge of the two, which can be undone. The whole gets those names of the part as aliases that it
-- had before the split; with p_keep_names the others too. Returns the merge, and the aliases that it has by
-- this.
create or replace function loci_internal.undo_split(p_namespace_id integer, p_split loci_data.entity_merges,
                                                    p_keep_names boolean, out merge_id uuid, out aliases text[])
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_had    text[];  -- before the split
    v_before text[];  -- until now
    v_at     timestamptz;
begin
    select e.aliases into v_before from loci_data.entities e
    where e.namespace_id = p_namespace_id and e.id = p_split.kept_id;
    select b.aliases into v_had from loci_data.entity_beliefs b
    where b.namespace_id = p_namespace_id and b.entity_id = p_split.kept_id and b.believed_to >= p_split.decided_at
    order by b.believed_to limit 1;
    merge_id := loci_internal.apply_entity_merge(p_namespace_id, p_split.kept_id, p_split.merged_id,
                                                 format('undoes the split %s', p_split.id), false);
    if not p_keep_names then
        v_at := loci_internal.lock_entities(p_namespace_id, array[p_split.kept_id]);
        update loci_data.entities e
        set aliases = array(select a.alias from unnest(e.aliases) with ordinality a(alias, place)
                            where loci.canonical_name(a.alias) = any (array(
                                  select loci.canonical_name(k) from unnest(v_before || v_had) k))
                            order by a.place),
            updated_at = v_at
        where e.namespace_id = p_namespace_id and e.id = p_split.kept_id;
    end if;
    aliases := array(select a.alias from loci_data.entities e
                     cross join lateral unnest(e.aliases) with ordinality a(alias, place)
                     where e.namespace_id = p_namespace_id and e.id = p_split.kept_id
                       and loci.canonical_name(a.alias) <> all (array(select loci.canonical_name(k)
                                                                      from unnest(v_before) k))
                     order by a.place);
end $$;
comment on function loci_internal.undo_split(integer, loci_data.entity_merges, boolean) is
    'Join a split entity again; the merge, and the aliases that the whole has by it.';
