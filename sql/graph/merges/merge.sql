-- Merges of entities.

-- Give an entity what a merged one had: type, description, metadata, figures and pin, where it has none or weaker ones.
create or replace function loci_internal.absorb_entity(p_namespace_id integer, p_kept uuid,
                                                       p_merged loci_data.entities, p_aliases text[],
                                                       p_at timestamptz) returns void
language sql volatile set search_path = ''
as $$
    update loci_data.entities e
    set aliases = p_aliases, type = case when loci_internal.entity_type_is_vaguer(e.type, p_merged.type)
        then p_merged.type else e.type end,
        description = coalesce(e.description, p_merged.description), metadata = p_merged.metadata || e.metadata,
        confidence = greatest(e.confidence, p_merged.confidence), observations = e.observations + p_merged.observations,
        pinned = e.pinned or p_merged.pinned, pinned_at = coalesce(e.pinned_at, p_merged.pinned_at),
        first_seen_at = least(e.first_seen_at, p_merged.first_seen_at), updated_at = p_at,
        last_referenced_at = greatest(e.last_referenced_at, p_merged.last_referenced_at)
    where e.namespace_id = p_namespace_id and e.id = p_kept
$$;
comment on function loci_internal.absorb_entity(integer, uuid, loci_data.entities, text[], timestamptz) is
    'Give an entity what one that is merged into it had.';

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
    perform loci_internal.absorb_entity(p_namespace_id, p_kept, v_merged, v_aliases, v_at);
    update loci_data.entity_merges m
    set moved = v_moved || jsonb_build_object('believed_to', (
            select max(b.believed_to) from loci_data.entity_beliefs b where b.namespace_id = p_namespace_id
                and b.entity_id = p_kept))
    where m.namespace_id = p_namespace_id and m.id = v_id;
    return v_id;
end $$;
comment on function loci_internal.apply_entity_merge(integer, uuid, uuid, text, boolean) is
    'Merge one entity into another; id of the merge. Errors: 22023, 40001.';

-- Two entities are one: p_from goes into p_into; both by id, name or alias. Returns the id of the merge, to undo it by,
-- and the entity that stays. See apply_entity_merge for what becomes of everything. Two agents at once: the second
-- finds
-- them merged. Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002, 22023, 23505
-- (they are one already), 40001.
create or replace function loci_api.merge_entities(p_namespace text, p_into text, p_from text,
                                                   p_reason text default null)
returns table (merge_id uuid, id uuid)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_kept         uuid;
    v_merged       uuid;
begin
    if length(p_reason) > 1000 then
        raise invalid_parameter_value using message = 'reason must have at most 1000 characters', column = 'reason';
    end if;
    perform loci_internal.lock_merges(v_namespace_id);
    v_kept := (loci_internal.resolve_entities(v_namespace_id, array[p_into], 'id'))[1];
    v_merged := (loci_internal.resolve_entities(v_namespace_id, array[p_from], 'other'))[1];
    if v_kept = v_merged then
        raise unique_violation using message = format('%L and %L are one entity already', p_into, p_from),
            column = 'other';
    end if;
    merge_id := loci_internal.apply_entity_merge(v_namespace_id, v_kept, v_merged, p_reason, false);
    id := v_kept;
    return next;
end $$;
comment on function loci_api.merge_entities(text, text, text, text) is
    'Merge an entity into another, by id, name or alias; id of the merge and of the kept entity. Errors: 42501, '
    'P0002, 22023, 23505, 40001.';

-- Merges and splits of a namespace, or of an entity, the newest first, undone ones included: a page at a time. cursor,
-- on every row, is what to send for the page that starts after it. Ranges of the primary key, entity_merges_kept and
-- entity_merges_merged. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023
-- (limit, cursor).
create or replace function loci.list_merges(p_namespace text, p_entity text default null, p_limit integer default 50,
                                            p_cursor text default null)
returns table (id uuid, kind text, kept_id uuid, kept text, merged_id uuid, merged text, reason text,
               automatic boolean, edges integer, mentions integer,
               decided_at timestamptz, decided_by uuid, undone_at timestamptz, cursor text)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_before uuid;
    v_entity uuid := (loci_internal.resolve_entities(v_ns, array_remove(array[p_entity], null), 'entity'))[1];
begin
    perform loci_internal.check_page(p_limit);
    v_before := coalesce((loci_internal.read_cursor(p_cursor, 'uuid'))[1], 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    return query
    select m.id, m.kind, m.kept_id, k.name, m.merged_id, g.name, m.reason, m.automatic,
           (select count(*)::integer from loci_data.edge_moves v
            where v.namespace_id = v_ns and v.merge_id = m.id and v.part in ('moved', 'loop')),
           jsonb_array_length(coalesce(m.moved -> 'mentions', '[]')), m.decided_at, m.decided_by, m.undone_at,
           loci_internal.make_cursor(jsonb_build_array(m.id))
    from (select o.* from loci_data.entity_merges o
          where o.namespace_id = v_ns and (v_entity is null or v_entity in (o.kept_id, o.merged_id)) and o.id < v_before
          order by o.id desc limit p_limit) m
    join loci_data.entities k on k.namespace_id = v_ns and k.id = m.kept_id
    join loci_data.entities g on g.namespace_id = v_ns and g.id = m.merged_id
    order by m.id desc;
end $$;
comment on function loci.list_merges(text, text, integer, text) is
    'Merges and splits, newest first, with names; cursor pages. Errors: 42501, P0002, 22023.';

-- Merges, splits and their undoing take turns in a namespace: each of them moves edges whose other ends another could
-- be moving. Held to the end of the transaction.
create or replace function loci_internal.lock_merges(p_namespace_id integer) returns void
language sql volatile set search_path = ''
as $$
    select loci_internal.take_turn(p_namespace_id, 'merges')
$$;
comment on function loci_internal.lock_merges(integer) is
    'Wait for other merges of a namespace, to the end of the transaction.';

-- Lock entities against every writer, in order of canonical_name like everywhere, and return the moment from which they
-- may change: now, and not before anything else that is known of them. Errors: 40001 if one of them is gone or merged
-- by then.
create or replace function loci_internal.lock_entities(p_namespace_id integer, p_ids uuid[]) returns timestamptz
language plpgsql volatile set search_path = ''
as $$
declare
    v_found integer;
begin
    perform from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = any(p_ids)
        order by e.canonical_name, e.id for update;
    get diagnostics v_found = row_count;
    if v_found < cardinality(p_ids) then
        raise serialization_failure using message = 'an entity was deleted meanwhile', hint = 'Try again.';
    end if;
    return greatest(clock_timestamp(), (select max(e.updated_at) from loci_data.entities e
                                        where e.namespace_id = p_namespace_id and e.id = any(p_ids))
                                            + interval '1 microsecond');
end $$;
comment on function loci_internal.lock_entities(integer, uuid[]) is
    'Lock entities; the moment from which they may change. Errors: 40001.';
