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
