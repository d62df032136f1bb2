-- Operations log: rows written by triggers, within one operation.

-- Note one change that no trigger sees: of keys, whose table has no namespace.
create or replace function loci_internal.log_change(
    p_namespace_id integer, p_kind text, p_action text, p_subject uuid, p_before jsonb, p_after jsonb)
returns void
language sql volatile set search_path = ''
as $$
    insert into loci_data.outbox (namespace_id, operation_id, kind, action, subject_id, before, after)
    values (p_namespace_id, loci_internal.ensure_operation(p_namespace_id), p_kind, p_action, p_subject, p_before,
            p_after)
$$;
comment on function loci_internal.log_change(integer, text, text, uuid, jsonb, jsonb) is
    'Note a change of something that has no table in a namespace.';

-- Note a change of a key in the operations log of its agent's home, or where it has none, of the namespace of the
-- request: all but its hash, and what it is measured by. p_before: the same fields before the change, of which only
-- those that changed are noted.
create or replace function loci_internal.log_key_change(p_namespace_id integer, p_key loci_data.api_keys, p_action text,
                                                        p_before jsonb)
returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_after jsonb := loci_internal.key_record(p_key);
    v_home  integer := (select n.id from loci_data.agents a join loci_data.namespaces n on n.id = a.home_id
                        where a.id = p_key.agent_id);
begin
    perform loci_internal.log_change(coalesce(v_home, p_namespace_id), 'key', p_action, p_key.id,
        (select jsonb_object_agg(b.key, b.value) from jsonb_each(p_before) b where b.value <> v_after -> b.key),
        (select jsonb_object_agg(a.key, a.value) from jsonb_each(v_after) a where p_before is null
         or a.value <> p_before -> a.key));
end $$;
comment on function loci_internal.log_key_change(integer, loci_data.api_keys, text, jsonb) is
    'Note a change of an API key at the home of its agent.';

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
-- the key, or 'all but' and those that it does not show. An erased thing shows at most its key, without text. Whole
-- statements at once, about 12 µs a row: a row becomes JSON once and loses what is not shown (offset 0: else the
-- planner repeats the conversion). Statements that touch nothing end at once. A namespace that is being deleted takes
-- its feed along. Security invoker: only the owner may write the tables.
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

-- The operation of this transaction in a namespace; its row is written with the first change. loci_api.begin_request
-- said who acts, and through what (settings of the transaction); a statement in SQL that did not say so is action
-- unknown, via sql. One probe of the primary key. The row is shared until the commit: who undoes an operation waits for
-- its transactions, and those that come later are refused. Errors: 23505 (undone while it ran).
create or replace function loci_internal.ensure_operation(p_namespace_id integer) returns uuid
language plpgsql volatile
as $$
declare
    v_id     uuid := coalesce(nullif(current_setting('loci.operation', true), '')::uuid,
                              loci_internal.current_operation_id());
    v_origin jsonb;
    v_undone uuid;
begin
    select o.undone_by into v_undone from loci_data.operations o where o.namespace_id = p_namespace_id and o.id = v_id
        for key share;
    if v_undone is not null then
        raise unique_violation using message = format('operation %s was undone while it ran, by operation %s', v_id,
                                                      v_undone);
    elsif not found then
        v_origin := coalesce(nullif(current_setting('loci.origin', true), ''), '{}')::jsonb;
        insert into loci_data.operations (namespace_id, id, action, via, agent_id, key_id, request_id, started_at,
                                          undoes)
        values (p_namespace_id, v_id, coalesce(v_origin ->> 'action', 'unknown'), coalesce(v_origin ->> 'via', 'sql'),
                loci.current_agent(),
                nullif(current_setting('loci.key', true), '')::uuid, v_origin ->> 'request_id', clock_timestamp(),
                nullif(current_setting('loci.undoes', true), '')::uuid)
        on conflict do nothing;
    end if;
    return v_id;
end $$;
comment on function loci_internal.ensure_operation(integer) is
    'Id of the operation that this transaction is part of, made if it is new to the namespace. Errors: 23505.';

-- The id of this transaction's operation, drawn if nobody has named one (loci_api.begin_request does): what is written
-- from here on can say what it is part of, before the operation has its row. Reads a setting; no SET clause, since
-- changed rows ask one by one.
create or replace function loci_internal.current_operation_id() returns uuid
language plpgsql volatile
as $$
declare
    v_id uuid := nullif(current_setting('loci.operation', true), '')::uuid;
begin
    if v_id is null then
        v_id := loci_api.uuid7();
        perform set_config('loci.operation', v_id::text, true);
    end if;
    return v_id;
end $$;
comment on function loci_internal.current_operation_id() is
    'Id of the operation of this transaction, drawn if there is none.';

-- Trigger: the feed of a namespace goes with it, which foreign keys would see to at a higher price. Writers hold the
-- namespace's row to their end, and deleting it waits for them, so that nothing comes after; loci_api.delete_namespace
-- holds the sequencer off.
create or replace function loci_internal.delete_namespace_changes() returns trigger
language plpgsql volatile
as $$
begin
    delete from loci_data.outbox where namespace_id = old.id;
    delete from loci_data.changes where namespace_id = old.id;
    return null;
end $$;
comment on function loci_internal.delete_namespace_changes() is
    'Trigger: delete the changes of a namespace that was deleted.';
