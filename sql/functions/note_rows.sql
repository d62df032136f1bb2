-- Trigger: rows that came into being, or were deleted for good, are changes (rows X4, X5). Arguments of the trigger: kind, column of
-- the subject's id, columns of the key (both empty where there are none), then the columns that a change shows beside the key, or 'all but' and
-- those that it does not show. What is erased shows at most its key, and of that no text. Whole statements at once, about 12 µs a row: a row becomes JSON once and loses what
-- is not shown (offset 0: else the planner repeats the conversion). Statements that touch nothing end at once. A namespace that is being
-- deleted takes its feed along. Whoever may write the tables is the owner, so it is no security definer.
create or replace function loci.note_rows() returns trigger
language plpgsql volatile
as $$
declare
    v_ns        integer;
    v_operation uuid;
    v_hidden    text[];
begin
    if tg_op = 'INSERT' then
        for v_ns in select distinct a.namespace_id from added a loop
            v_operation := loci.operation_of(v_ns);
            v_hidden := case tg_argv[3] when 'all but' then tg_argv[4:] else loci.hidden_columns(tg_relid, string_to_array(tg_argv[2], ' ') || tg_argv[3:]) end;
            insert into loci_data.outbox (namespace_id, operation_id, kind, action, subject_id, after)
            select v_ns, v_operation, tg_argv[0], 'created', (r.row ->> tg_argv[1])::uuid, r.row - v_hidden
            from (select to_jsonb(a) as row from added a where a.namespace_id = v_ns offset 0) r;
        end loop;
    else
        for v_ns in select distinct g.namespace_id from gone g loop
            continue when not exists (select from loci_data.namespaces n where n.id = v_ns);
            v_operation := loci.operation_of(v_ns);
            v_hidden := loci.hidden_columns(tg_relid, string_to_array(tg_argv[2], ' '));
            insert into loci_data.outbox (namespace_id, operation_id, kind, action, subject_id, before)
            select v_ns, v_operation, tg_argv[0], 'erased', (r.row ->> tg_argv[1])::uuid, nullif(r.row - v_hidden, '{}')
            from (select to_jsonb(g) as row from gone g where g.namespace_id = v_ns offset 0) r;
        end loop;
    end if;
    return null;
end $$;
comment on function loci.note_rows() is 'Trigger: note created or erased rows in the outbox.';
