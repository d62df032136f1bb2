-- The operation of this transaction in a namespace; its row is written with the first change. Who and through what was said by
-- loci.enter (settings of the transaction); a statement in SQL that did not say so is action unknown, via sql.
-- One probe of the primary key. The row is shared until the commit: who undoes an operation waits for its transactions, and those that come
-- later are refused. Called by triggers; internal. Errors: 23505 (undone while it ran).
create or replace function loci.operation_of(p_namespace_id integer) returns uuid
language plpgsql volatile
as $$
declare
    v_id     uuid := coalesce(nullif(current_setting('loci.operation', true), '')::uuid, loci.name_operation());
    v_origin jsonb;
    v_undone uuid;
begin
    select o.undone_by into v_undone from loci_data.operations o where o.namespace_id = p_namespace_id and o.id = v_id for key share;
    if v_undone is not null then
        raise unique_violation using message = format('operation %s was undone while it ran, by operation %s', v_id, v_undone);
    elsif not found then
        v_origin := coalesce(nullif(current_setting('loci.origin', true), ''), '{}')::jsonb;
        insert into loci_data.operations (namespace_id, id, action, via, agent_id, key_id, request_id, started_at, undoes)
        values (p_namespace_id, v_id, coalesce(v_origin ->> 'action', 'unknown'), coalesce(v_origin ->> 'via', 'sql'), loci.caller(),
                nullif(current_setting('loci.key', true), '')::uuid, v_origin ->> 'request_id', clock_timestamp(),
                nullif(current_setting('loci.undoes', true), '')::uuid)
        on conflict do nothing;
    end if;
    return v_id;
end $$;
comment on function loci.operation_of(integer) is 'Id of the operation that this transaction is part of, made if it is new to the namespace. Internal. Errors: 23505.';
