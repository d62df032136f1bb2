-- Trigger: a row whose columns of meaning changed is a change: its key, and those columns before and after. Arguments
-- of the trigger as for log_rows_change. Counters are not named by the triggers' conditions, so they cost nothing.
-- About 30 µs a row. A namespace, whose row has no namespace_id, comes here when it is made, too. One that is being
-- deleted takes its feed along.
create or replace function loci_internal.log_row_change() returns trigger
language plpgsql volatile
as $$
declare
    v_new  jsonb := to_jsonb(new);
    v_old  jsonb := case tg_op when 'INSERT' then null else to_jsonb(old) end;
    v_ns   integer := coalesce(v_new -> 'namespace_id', v_new -> 'id')::integer;
    v_keys text[] := string_to_array(tg_argv[2], ' ');
begin
    if tg_op = 'UPDATE' and not exists (select from loci_data.namespaces n where n.id = v_ns) then
        return null;  -- its cascade came by here
    end if;
    insert into loci_data.outbox (namespace_id, operation_id, kind, action, subject_id, before, after)
    select v_ns, loci_internal.ensure_operation(v_ns), tg_argv[0], case when v_old is null then 'created'
        else 'changed' end, (v_new ->> tg_argv[1])::uuid,
           jsonb_object_agg(k, v_old -> k) filter (where v_old is not null), jsonb_object_agg(k, v_new -> k)
    from unnest(v_keys || case tg_argv[3]
                when 'all but' then array(select jsonb_object_keys(v_new - tg_argv[4:] - v_keys))
                    else tg_argv[3:] end) k
    where k = any (v_keys) or v_old -> k is distinct from v_new -> k
    having bool_or(v_old -> k is distinct from v_new -> k);
    return null;
end $$;
comment on function loci_internal.log_row_change() is
    'Trigger: note the changed columns of a row in the outbox.';

-- Columns of a table that a change does not show. One range of the catalogue's index.
create or replace function loci_internal.hidden_columns(p_table oid, p_shown text[]) returns text[]
language sql stable parallel safe
return array(select a.attname::text from pg_catalog.pg_attribute a where a.attrelid = p_table and a.attnum > 0
             and a.attname::text <> all (p_shown));
comment on function loci_internal.hidden_columns(oid, text[]) is
    'Columns of a table that are not among these.';

-- Trigger: rows that came into being, or were deleted for good, are changes. Arguments of the trigger: kind, column of
-- the subject's id, columns of the key (both empty where there are none), then the columns that a change shows beside
-- the key, or 'all but' and those that it does not show. An erased thing shows at most its key, and of that no text.
-- Whole statements at once, about 12 µs a row: a row becomes JSON once and loses what is not shown (offset 0: else the
-- planner repeats the conversion). Statements that touch nothing end at once. A namespace that is being deleted takes
-- its feed along. Only the owner may write the tables, so it is no security definer.
create or replace function loci_internal.log_rows_change() returns trigger
language plpgsql volatile
as $$
declare
    v_ns        integer;
    v_operation uuid;
    v_hidden    text[];
begin
    if tg_op = 'INSERT' then
        for v_ns in select distinct a.namespace_id from added a loop
            v_operation := loci_internal.ensure_operation(v_ns);
            v_hidden := case tg_argv[3] when 'all but' then tg_argv[4:]
                else loci_internal.hidden_columns(tg_relid, string_to_array(tg_argv[2], ' ') || tg_argv[3:]) end;
            insert into loci_data.outbox (namespace_id, operation_id, kind, action, subject_id, after)
            select v_ns, v_operation, tg_argv[0], 'created', (r.row ->> tg_argv[1])::uuid, r.row - v_hidden
            from (select to_jsonb(a) as row from added a where a.namespace_id = v_ns offset 0) r;
        end loop;
    else
        for v_ns in select distinct g.namespace_id from gone g loop
            continue when not exists (select from loci_data.namespaces n where n.id = v_ns);
            v_operation := loci_internal.ensure_operation(v_ns);
            v_hidden := loci_internal.hidden_columns(tg_relid, string_to_array(tg_argv[2], ' '));
            insert into loci_data.outbox (namespace_id, operation_id, kind, action, subject_id, before)
            select v_ns, v_operation, tg_argv[0], 'erased', (r.row ->> tg_argv[1])::uuid, nullif(r.row - v_hidden, '{}')
            from (select to_jsonb(g) as row from gone g where g.namespace_id = v_ns offset 0) r;
        end loop;
    end if;
    return null;
end $$;
comment on function loci_internal.log_rows_change() is
    'Trigger: note created or erased rows in the outbox.';
