-- Restore lines of one kind of an export (row X6), a JSON array of them, after begin_restore and in its transaction. A row whose key is
-- free is written as it stands in the line; one that is there already and says the same is left alone; one that says something else
-- stays, and is a conflict. problems: [{row, reason, conflict}], row from 1; unless all are conflicts, nothing was written.
-- Triggers index, close the hierarchy, refuse overlaps and queue as for any write; what was believed is a line, so nothing is kept again.
-- Cost: a handful of set-based statements for a batch of any size. Admin. Security definer: writes every table of the namespace.
-- Called by service/transfer/restore.py. Errors: 42501, P0002, 22xxx and 23xxx of the line that they come from.
create or replace function loci.restore_rows(p_namespace text, p_kind text, p_lines jsonb)
returns table (written integer, unchanged integer, problems jsonb)
language plpgsql volatile security definer set search_path = '' set timezone = 'UTC' set extra_float_digits = 1
set enable_seqscan = off
as $$
declare
    v_ns    integer := loci.authorize(p_namespace, 'admin');
    v_kind  text := p_kind || '_kind';  -- where lines have a column kind
    v_lines jsonb := (select jsonb_agg(case when l ? v_kind then l - v_kind || jsonb_build_object('kind', l -> v_kind) else l - 'kind' end order by o)
                      from jsonb_array_elements(p_lines) with ordinality x(l, o));
    v_query record;
begin
    select * into v_query from loci.restore_query(p_kind);
    written := 0;
    unchanged := 0;
    execute format($query$select jsonb_agg(jsonb_build_object('row', c.row, 'conflict', false, 'reason',
                     loci.line_differences(c.line, c.read, false))) from (%s) c$query$, v_query.check_lines) into problems using v_ns, v_lines;
    if problems is null then
        select jsonb_agg(jsonb_build_object('row', s.row, 'conflict', false, 'reason', s.reason)) into problems
        from loci.stray_lines(v_ns, p_kind, v_lines) s;
    end if;
    if problems is null then
        if p_kind = 'memory' and loci.is_operator() then
            perform loci.pass_number('loci_data.memories_doc_id_seq', (select max((l ->> 'doc_id')::bigint) from jsonb_array_elements(v_lines) l), 1::bigint << 40);
        elsif p_kind = 'conversation_turn' then
            perform loci.pass_number('loci_data.conversation_turns_id_seq', (select max((l ->> 'id')::bigint) from jsonb_array_elements(v_lines) l), 1::bigint << 40);
        end if;
        execute v_query.write_lines into written, problems using v_ns,
            case when p_kind in ('name_candidate', 'name_queue') then loci.unread_lines(v_ns, p_kind, v_lines) else v_lines end;
        unchanged := jsonb_array_length(v_lines) - written - coalesce(jsonb_array_length(problems), 0);
        problems := (select jsonb_agg(jsonb_build_object('row', p.row, 'conflict', true, 'reason', format('%s is here with other content: %s',
                         replace(p_kind, '_', ' '), loci.line_differences(p.line, p.here, true))))
                     from jsonb_to_recordset(problems) p("row" bigint, line jsonb, here jsonb));
    end if;
    problems := coalesce(problems, '[]');
    return next;
end $$;
comment on function loci.restore_rows(text, text, jsonb) is 'Restore lines of a kind of an export, as a JSON array. Admin. Errors: 42501, P0002, 22xxx, 23xxx.';
