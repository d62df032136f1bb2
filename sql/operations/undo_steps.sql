-- The steps of undoing an operation, in the order in which each finds what it needs.

-- Undo the kinds of changes that an operation made, but of things to leave alone (p_left): how many of each kind came
-- back, and how many entities stay (kept), because something else rests on them by now. The caller holds the locks.
create or replace function loci_internal.undo_steps(p_namespace_id integer, p_namespace text, p_id uuid, p_kinds text[],
                                                    p_left uuid[], out counts jsonb, out kept integer)
language plpgsql volatile set search_path = ''
as $$
declare
    v_merges integer := 0;
    v_new    record;
begin
    counts := '{}';
    kept := 0;
    if 'merge' = any (p_kinds) then
        v_merges := loci_internal.undo_merges(p_namespace_id, p_namespace, p_id);
        counts := counts || jsonb_build_object('merge', v_merges);
    end if;
    if 'entity' = any (p_kinds) and v_merges = 0 then
        counts := counts || jsonb_build_object('entity', loci_internal.undo_entities(p_namespace_id, p_id, p_left));
    end if;
    if p_kinds @> '{memory,attribute}' then
        perform loci_internal.undo_attribute_sources(p_namespace_id, p_id, p_left);
    end if;
    if 'memory' = any (p_kinds) then
        counts := counts || jsonb_build_object('memory', loci_internal.undo_memories(p_namespace_id, p_id, p_left));
    end if;
    if 'placement' = any (p_kinds) then
        counts := counts
            || jsonb_build_object('placement', loci_internal.undo_placements(p_namespace_id, p_id, p_left));
    end if;
    if 'link' = any (p_kinds) then
        counts := counts || jsonb_build_object('link', loci_internal.undo_links(p_namespace_id, p_id, p_left));
    end if;
    if v_merges = 0 then
        counts := counts || jsonb_build_object('edge', loci_internal.undo_edges(p_namespace_id, p_id, p_left));
        if p_kinds && '{aspect,attribute,supersession}' then
            counts := counts
                || jsonb_build_object('attribute', loci_internal.undo_attributes(p_namespace_id, p_id, p_left));
        end if;
    end if;
    if p_kinds && '{edge_type,namespace}' then
        counts := counts
            || jsonb_build_object('setting', loci_internal.undo_settings(p_namespace_id, p_namespace, p_id));
    end if;
    if 'grant' = any (p_kinds) then
        counts := counts || jsonb_build_object('grant', loci_internal.undo_grants(p_namespace_id, p_id, p_left));
    end if;
    if 'entity' = any (p_kinds) and v_merges = 0 then
        v_new := loci_internal.undo_new_entities(p_namespace_id, p_id, p_left);
        counts := counts || jsonb_build_object('entity', v_new.removed + (counts -> 'entity')::integer);
        kept := v_new.kept;
    end if;
end $$;
comment on function loci_internal.undo_steps(integer, text, uuid, text[], uuid[]) is
    'Undo the kinds of changes that an operation made.';
