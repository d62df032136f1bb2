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
-- from here on
-- can say what it is part of, before the operation has its row. Reads a setting; no SET clause, since changed rows ask
-- one by one.
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
