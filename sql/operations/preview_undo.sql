-- What would undoing an operation do, and what stands in its way? It is undone, by the same function, and taken back: a
-- subtransaction that fails at its end. Nothing of it is left but the locks of a moment. undone, skipped and conflicts
-- as undo_operation says them where what was changed since is left alone; changes: what it would note in the log, at
-- most p_limit; more: how many are not shown. Costs what undoing costs. Security definer: the other checks the caller.
-- Errors: those of undo_operation, but for what was changed since; 22023 (limit).
create or replace function loci_api.preview_undo(p_namespace text, p_id uuid, p_limit integer default 100)
returns table (undone jsonb, skipped jsonb, conflicts jsonb, changes jsonb, more bigint)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns   integer := loci_internal.authorize(p_namespace, 'writer');
    v_done record;
    v_made record;
begin
    perform loci_internal.check_page(p_limit);
    begin
        select u.* into v_done from loci_api.undo_operation(p_namespace, p_id, true) u;
        select n.* into v_made from loci_internal.noted_changes(v_ns, v_done.operation_id, p_limit) n;
        raise exception using errcode = 'LOCI0', message = 'taken back';
    exception when sqlstate 'LOCI0' then
        null;
    end;
    undone := v_done.undone;
    skipped := v_done.skipped;
    conflicts := loci_internal.described_changes(v_ns, v_done.conflicts);
    changes := loci_internal.described_changes(v_ns, v_made.changes);
    more := v_made.more;
    return next;
end $$;
comment on function loci_api.preview_undo(text, uuid, integer) is
    'Effects of undoing an operation: it is undone, and that is taken back. Errors: 42501, P0002, 23505, 23P01, '
    '40001, 22023.';
