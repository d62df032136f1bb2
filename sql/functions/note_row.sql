-- Trigger: a row whose columns of meaning changed is a change (rows X4, X5): its key, and those columns before and after. Arguments of
-- the trigger as for note_rows. Counters are not named by the triggers' conditions, so they cost nothing. About 30 µs a row.
-- A namespace, whose row has no namespace_id, comes here when it is made, too.
create or replace function loci.note_row() returns trigger
language plpgsql volatile
as $$
declare
    v_new  jsonb := to_jsonb(new);
    v_old  jsonb := case tg_op when 'INSERT' then null else to_jsonb(old) end;
    v_ns   integer := coalesce(v_new -> 'namespace_id', v_new -> 'id')::integer;
    v_keys text[] := string_to_array(tg_argv[2], ' ');
begin
    insert into loci_data.outbox (namespace_id, operation_id, kind, action, subject_id, before, after)
    select v_ns, loci.operation_of(v_ns), tg_argv[0], case when v_old is null then 'created' else 'changed' end, (v_new ->> tg_argv[1])::uuid,
           jsonb_object_agg(k, v_old -> k) filter (where v_old is not null), jsonb_object_agg(k, v_new -> k)
    from unnest(v_keys || case tg_argv[3] when 'all but' then array(select jsonb_object_keys(v_new - tg_argv[4:] - v_keys)) else tg_argv[3:] end) k
    where k = any (v_keys) or v_old -> k is distinct from v_new -> k
    having bool_or(v_old -> k is distinct from v_new -> k);
    return null;
end $$;
comment on function loci.note_row() is 'Trigger: note the changed columns of a row in the outbox.';
