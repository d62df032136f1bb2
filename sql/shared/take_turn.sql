-- Wait for this transaction's turn at something of a namespace that one does at a time; held to its end. A second
-- taker of the same turn inserts the same key and waits for this transaction, which leaves no row behind.
-- So anything may be taken turns at, and no login but the owner's functions can hold it up. An insert and a
-- delete in loci_data.turn_locks.
create or replace function loci_internal.take_turn(p_namespace_id integer, p_at text) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_at bytea := sha256(convert_to(p_at, 'UTF8'));
begin
    insert into loci_data.turn_locks (namespace_id, at) values (p_namespace_id, v_at);
    delete from loci_data.turn_locks t where t.namespace_id = p_namespace_id and t.at = v_at;
end $$;
comment on function loci_internal.take_turn(integer, text) is
    'Wait for the turn at something of a namespace, to the end of the transaction.';
