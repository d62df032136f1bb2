-- What would go if memories were erased? They are erased, by the same function, and that is taken back: a
-- subtransaction that fails at its end. Nothing of it is left but the locks of a moment. The receipt as erase_memories
-- gives it; changes: what it would note in the log, memories, facts, edges and entities first, in words, at most
-- p_limit; more: how many are not shown. Costs what erasing costs. Security definer: the other checks the caller.
-- Errors: those of erase_memories; 22023 (limit).
create or replace function loci_api.preview_erasure(
    p_namespace text, p_ids uuid[], p_versions text default 'all', p_subtree boolean default false,
    p_limit integer default 100, p_with_turns boolean default false)
returns table (erased integer, deleted jsonb, added jsonb, changed jsonb, turns jsonb, turns_found integer,
               changes jsonb, more bigint)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = auto
as $$
declare
    v_ns   integer := loci_internal.authorize(p_namespace, 'writer');
    v_made record;
begin
    perform loci_internal.check_page(p_limit);
    begin
        select e.* into erased, deleted, added, changed, turns, turns_found
        from loci_api.erase_memories(p_namespace, p_ids, p_versions, p_subtree, p_with_turns) e;
        select n.* into v_made
        from loci_internal.noted_changes(v_ns, loci_internal.current_operation_id(), p_limit) n;
        raise exception using errcode = 'LOCI0', message = 'taken back';
    exception when sqlstate 'LOCI0' then
        null;
    end;
    changes := loci_internal.described_changes(v_ns, v_made.changes);
    more := v_made.more;
    return next;
end $$;
comment on function loci_api.preview_erasure(text, uuid[], text, boolean, integer, boolean) is
    'Things that erasing memories would take along: they are erased, and that is taken back. '
    'Errors: 42501, P0002, 22023, 40001.';
