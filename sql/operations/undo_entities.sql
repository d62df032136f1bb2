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
