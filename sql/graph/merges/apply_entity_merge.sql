-- Make one entity of two, and keep what undoing needs. The merged one keeps its row, and what it said of itself; from
-- this moment on its id, name and aliases lead to the kept one (surviving_entity_id, entity_names). Edges: see
-- move_edges. Mentions
-- move, unless the memory mentions both. Conversations that observed it observed the kept one. Aspects move; where both
-- have one by the same name, the attributes do. The kept one says more than before: names, a type less vague, a
-- description if it had none, metadata that it lacked, the higher confidence, the earlier beginning; it is pinned if
-- either was. moved holds ids, figures and hashes of names only: erasing finds no text there. The caller holds
-- lock_merges. Cost follows what hangs on the merged one. Errors: 22023 (more than 100 aliases), 40001.
create or replace function loci_internal.apply_entity_merge(p_namespace_id integer, p_kept uuid, p_merged uuid,
                                                            p_reason text, p_automatic boolean) returns uuid
language plpgsql volatile set search_path = '' set timezone = 'UTC' set enable_seqscan = off
as $$
declare
    v_id      uuid := loci_api.uuid7();
    v_at      timestamptz := loci_internal.lock_entities(p_namespace_id, array[p_kept, p_merged]);
    v_kept    loci_data.entities;
    v_merged  loci_data.entities;
    v_aliases text[];
    v_moved   jsonb;
begin
    select * into v_kept from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = p_kept;
    select * into v_merged from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = p_merged;
    if v_kept.merged_into is not null or v_merged.merged_into is not null then
        raise serialization_failure using message = 'an entity was merged or removed meanwhile', hint = 'Try again.';
    end if;
    v_aliases := loci_internal.clean_aliases(v_kept.aliases || v_merged.name || v_merged.aliases,
                                             v_kept.canonical_name);
    if cardinality(v_aliases) > 100 then
        raise invalid_parameter_value using column = 'other',
            message = format('%L and %L would have %s aliases together; an entity has at most 100', v_kept.name,
                             v_merged.name, cardinality(v_aliases));
    end if;
    insert into loci_data.entity_merges (namespace_id, id, kept_id, merged_id, reason, automatic, decided_at,
                                         decided_by)
    values (p_namespace_id, v_id, p_kept, p_merged, p_reason, p_automatic, v_at, loci.current_agent());
    v_moved := loci_internal.move_aspects(p_namespace_id, p_merged, p_kept, null, v_at)
        || jsonb_build_object('mentions', loci_internal.move_mentions(p_namespace_id, p_merged, p_kept, null));
    v_moved := v_moved || jsonb_build_object('edges',
                                             loci_internal.move_edges(p_namespace_id, v_id, p_merged, p_kept, null,
                                                                      v_at),
        'confidence', v_kept.confidence, 'last_referenced_at', v_kept.last_referenced_at,
        'first_seen_at', v_kept.first_seen_at, 'aliases', array(
            select hashtextextended(loci.canonical_name(a), 0) from unnest(v_aliases) a
            where loci.canonical_name(a) <> all (array(select loci.canonical_name(k) from unnest(v_kept.aliases) k))));

    perform loci_internal.share_sessions(p_namespace_id, p_merged, p_kept, false);

    update loci_data.entities e set merged_into = p_kept, merged_at = v_at, updated_at = v_at
    where e.namespace_id = p_namespace_id and e.id = p_merged;
    update loci_data.entities e
    set aliases = v_aliases, type = case when loci_internal.entity_type_is_vaguer(e.type, v_merged.type)
        then v_merged.type else e.type end,
        description = coalesce(e.description, v_merged.description), metadata = v_merged.metadata || e.metadata,
        confidence = greatest(e.confidence, v_merged.confidence), observations = e.observations + v_merged.observations,
        pinned = e.pinned or v_merged.pinned, pinned_at = coalesce(e.pinned_at, v_merged.pinned_at),
        first_seen_at = least(e.first_seen_at, v_merged.first_seen_at), updated_at = v_at,
        last_referenced_at = greatest(e.last_referenced_at, v_merged.last_referenced_at)
    where e.namespace_id = p_namespace_id and e.id = p_kept;
    update loci_data.entity_merges m
    set moved = v_moved || jsonb_build_object('believed_to', (
            select max(b.believed_to) from loci_data.entity_beliefs b where b.namespace_id = p_namespace_id
                and b.entity_id = p_kept))
    where m.namespace_id = p_namespace_id and m.id = v_id;
    return v_id;
end $$;
comment on function loci_internal.apply_entity_merge(integer, uuid, uuid, text, boolean) is
    'Merge one entity into another; id of the merge. Errors: 22023, 40001.';
