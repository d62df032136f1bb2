-- Keep the reply to a request that took an idempotency key, in the request's own transaction, with the ids of all that
-- it speaks of: every id in it, whatever the field, but for those that only point at something else (the parent, what
-- was superseded).
create or replace function loci_api.store_idempotent_reply(p_namespace text, p_key text, p_status smallint,
                                                           p_response jsonb) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    update loci_data.idempotency_keys
    set status = p_status, response = p_response,
        resource_ids = array(
            select distinct (i #>> '{}')::uuid
            from jsonb_path_query(p_response, '$.** ? (@.type() == "object").keyvalue() ? (@.key != "parent_id" && '
                                              '@.key != "superseded"
                && @.key != "superseded_by").value ? (@.type() == "string"
                && @ like_regex "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")') i)
    where namespace_id = v_ns and agent_id = loci.current_agent() and key = p_key;
end $$;
comment on function loci_api.store_idempotent_reply(text, text, smallint, jsonb) is
    'Store the reply of an idempotent request.';
