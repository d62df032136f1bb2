-- The id of this transaction's operation, drawn if nobody has named one (loci.enter does): what is written from here on can say what it is
-- part of, before the operation has its row. Reads a setting; no SET clause, since changed rows ask one by one.
-- Called by operation_of, observe_entities and mention_entities; internal.
create or replace function loci.name_operation() returns uuid
language plpgsql volatile
as $$
declare
    v_id uuid := nullif(current_setting('loci.operation', true), '')::uuid;
begin
    if v_id is null then
        v_id := loci.uuid7();
        perform set_config('loci.operation', v_id::text, true);
    end if;
    return v_id;
end $$;
comment on function loci.name_operation() is 'Id of the operation of this transaction, drawn if there is none. Internal.';
