-- Was this request answered before? The first caller of a key takes it in this transaction; a second one waits for it
-- and gets its reply. The same key with another request is an error, unless the reply was erased: nothing is known of
-- that request any more, and status 410 is the answer to all. Called before a POST that carries an Idempotency-Key.
create or replace function loci_api.claim_idempotency_key(p_namespace text, p_key text, p_request_hash bytea)
returns table (status smallint, response jsonb)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'reader');
    v_row loci_data.idempotency_keys;
begin
    insert into loci_data.idempotency_keys as k (namespace_id, agent_id, key, request_hash, status, response)
    values (v_ns, loci.current_agent(), p_key, p_request_hash, 0, '{}')
    on conflict do nothing;
    if found then
        return;
    end if;
    select * into v_row from loci_data.idempotency_keys k
    where k.namespace_id = v_ns and k.agent_id = loci.current_agent() and k.key = p_key;
    if v_row.request_hash not in (p_request_hash, '') then
        raise unique_violation using message = 'this Idempotency-Key was used with another request',
            constraint = 'idempotency_keys_request', column = 'Idempotency-Key';
    end if;
    return query select v_row.status, v_row.response;
end $$;
comment on function loci_api.claim_idempotency_key(text, text, bytea) is
    'Take an idempotency key (no row), or the reply that it already has. Errors: 23505 when the key was used with '
    'another request.';
