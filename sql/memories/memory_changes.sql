-- Changes of memories without a new version.

-- Change what is said about a memory, not what it says: its details (loci.memory_details), its validity, and the
-- parent. Absent keys keep their value; metadata of null are none. valid_from and valid_to correct or end this version;
-- overlap with another is refused. parent_id (null: detach) is a move: it holds from parent_since on, by default now,
-- for as long as the version is valid; a version that is no longer valid is corrected for all of its time. Earlier
-- beliefs stay askable with known_at. Another content is another version: write it with the lineage. Triggers
-- keep index, beliefs and closure. Its key stays, so the row is locked no more than that: the log of a recall that
-- shows it at the same moment refers to it. Errors: 42501, P0002, 22023, 23503, 23514, 23P01 (overlap), 23505 (another
-- says the same), 23000 (cycle).
create or replace function loci_api.update_memory(p_namespace text, p_id uuid, p_changes jsonb)
returns setof loci.memory_record
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'writer');
    v_parent uuid := (p_changes ->> 'parent_id')::uuid;
    v_old    loci_data.memories;
    v_new    loci_data.memories;
    v_at     timestamptz;
begin
    select * into v_old from loci_data.memories where namespace_id = v_ns and id = p_id for no key update;
    if not found then
        raise no_data_found using message = format('memory %s does not exist', p_id), column = 'id';
    end if;
    v_new := jsonb_populate_record(v_old, loci_internal.name_subject(v_ns, p_changes));
    v_new.metadata := coalesce(v_new.metadata, '{}');
    if p_changes ? 'parent_id' or v_new.layer <> v_old.layer then
        perform loci_internal.lock_hierarchy(v_ns, true);
    end if;
    v_at := clock_timestamp();
    v_new.id := p_id;
    v_new.status := v_old.status;
    v_new.superseded_at := v_old.superseded_at;
    v_new.fold_scope := case when v_new.valid_from = v_old.valid_from then
        case when v_old.fold_scope <> v_old.lineage and v_new.about is distinct from v_old.about
             then loci_internal.wording_scope(v_new.content, v_new.about, v_new.source, v_new.created_by)
             else v_old.fold_scope end end;
    v_new.updated_at := v_at;
    select * into v_new from loci_internal.change_memories(v_ns, array[v_new]);
    if p_changes ? 'parent_id' then
        if v_parent is not null
            and not exists (select from loci_data.memories where namespace_id = v_ns and id = v_parent) then
            raise foreign_key_violation using message = format('memory %s does not exist', v_parent),
                constraint = 'memory_placements_parent_fkey', column = 'parent_id';
        end if;
        perform loci_internal.place_lineage(v_ns, v_new.lineage_id,
            (select m.lineage_id from loci_data.memories m where m.namespace_id = v_ns and m.id = v_parent),
            greatest(v_new.valid_from, coalesce((p_changes ->> 'parent_since')::timestamptz,
                                                case when v_new.valid_to <= v_at then v_new.valid_from else v_at end)),
            v_new.valid_to, v_at);
    end if;
    return query
    select (loci.memory_record(v_new, v_at,
                               (select p.parent_id from loci_internal.parent_of(v_new, clock_timestamp(), null) p))).*;
end $$;
comment on function loci_api.update_memory(text, uuid, jsonb) is
    'Change details (category, tags and the like), validity or parent_id (with parent_since) of a memory; returns it.';

-- Let memories be as given in their validity, status and details; the rest of the rows given is ignored, but for
-- fold_scope and updated_at. The rows as they are now, after the triggers. Where another says exactly the same, the
-- error names it: the trigger memories_duplicate sees one that is there, the index memories_fold one that another
-- writer made current in the same moment. A probe of the primary key a memory. The caller has locked them, and planning
-- for indexes. Errors: 23505, 23514, 23P01.
create or replace function loci_internal.change_memories(p_namespace_id integer, p_memories loci_data.memories[])
returns setof loci_data.memories
language plpgsql volatile
as $$
declare
    v_constraint text;
begin
    return query
    update loci_data.memories m
    set valid_from = c.valid_from, valid_to = c.valid_to, superseded_at = c.superseded_at, status = c.status,
        fold_scope = c.fold_scope, updated_at = c.updated_at,
        category = c.category, tags = c.tags, layer = c.layer, importance = c.importance, confidence = c.confidence,
        metadata = c.metadata, about = c.about
    from unnest(p_memories) c
    where m.namespace_id = p_namespace_id and m.id = c.id
    returning m.*;
exception when unique_violation then
    get stacked diagnostics v_constraint = constraint_name;
    if v_constraint = 'memories_fold' then
        perform loci_internal.refuse_duplicates_of(c) from unnest(p_memories) c;
    end if;
    raise;
end $$;
comment on function loci_internal.change_memories(integer, loci_data.memories[]) is
    'Let memories be as given in their validity, status and details; returns them.';
