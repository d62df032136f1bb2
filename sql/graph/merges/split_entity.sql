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
    v_wrong  record;
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
    select w.field, w.id into v_wrong
    from (select 'edge_ids' as field, i as id,
          exists (select from loci_data.edges e where e.namespace_id = v_ns and e.id = i::uuid
                 and v_old.id in (e.source_id, e.target_id) and e.superseded_at is null) as there
          from jsonb_array_elements_text(coalesce(nullif(p_split -> 'edge_ids', 'null'), '[]')) i
          union all
          select 'memory_ids', i, exists (select from loci_data.memory_mentions m where m.namespace_id = v_ns
                                          and m.memory_id = i::uuid and m.entity_id = v_old.id)
          from jsonb_array_elements_text(coalesce(nullif(p_split -> 'memory_ids', 'null'), '[]')) i
          union all
          select 'aspect_ids', i,
                 exists (select from loci_data.aspects a where a.namespace_id = v_ns and a.id = i::uuid
                         and a.entity_id = v_old.id)
          from jsonb_array_elements_text(coalesce(nullif(p_split -> 'aspect_ids', 'null'), '[]')) i) w
    where not w.there limit 1;
    if found then
        raise no_data_found using message = format('%L has no such %s: %s', v_old.name,
                                                   replace(v_wrong.field, '_ids', ''), v_wrong.id),
                                                   column = v_wrong.field;
    elsif exists (select from loci_data.entities e where e.namespace_id = v_ns
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
    perform loci_internal.move_aspects(v_ns, v_old.id, split_entity.id,
                                       array(select jsonb_array_elements_text(
                                           coalesce(nullif(p_split -> 'aspect_ids', 'null'), '[]'))::uuid), v_at);
    perform loci_internal.move_mentions(v_ns, v_old.id, split_entity.id,
                                        array(select jsonb_array_elements_text(
                                            coalesce(nullif(p_split -> 'memory_ids', 'null'), '[]'))::uuid));
    perform loci_internal.move_edges(v_ns, merge_id, v_old.id, split_entity.id,
                                     array(select jsonb_array_elements_text(
                                         coalesce(nullif(p_split -> 'edge_ids', 'null'), '[]'))::uuid), v_at);
    return next;
end $$;
comment on function loci_api.split_entity(text, text, jsonb) is
    'Make a new entity of a part of one: {name, type?, aliases?, edge_ids?, memory_ids?, aspect_ids?, reason?}; id of '
    'the split and of the new entity. Errors: 42501, P0002, 22023, 23505, 40001.';
