-- Keep the reply to a request that took an idempotency key, in the request's own transaction.
create or replace function loci.keep_reply(p_namespace text, p_key text, p_status smallint, p_response jsonb) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci.authorize(p_namespace, 'reader');
begin
    update loci_data.idempotency_keys
    set status = p_status, response = p_response,
        memory_ids = array(select (jsonb_path_query(p_response, '$.**.id ? (@ like_regex "^[0-9a-f-]{36}$")') #>> '{}')::uuid)
    where namespace_id = v_ns and agent_id = loci.caller() and key = p_key;
end $$;
comment on function loci.keep_reply(text, text, smallint, jsonb) is 'Store the reply of an idempotent request.';
