-- Idempotency keys and the replies kept under them.

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

-- Kept replies that speak of erased things, or that quote one of these texts (as JSON has them), say so from now on: a
-- retry of the request neither shows what was erased nor writes it again. The hash of the request goes too, so any
-- request with the key gets this answer. GIN index idempotency_keys_resource_ids; quotes read the replies that are
-- kept.
create or replace function loci_internal.erase_idempotent_replies(p_namespace_id integer, p_ids uuid[],
                                                                  p_quotes text[] default '{}') returns void
language sql volatile set search_path = ''
as $$
    update loci_data.idempotency_keys k
    set status = 410, request_hash = '', resource_ids = '{}', response = jsonb_build_object(
            'type', 'urn:loci:problem:gone', 'title', 'Gone', 'status', 410,
            'detail',
            'this request was answered before, and what it was about has been erased since; it is not done again')
    from (select a.agent_id, a.key from loci_data.idempotency_keys a
          where a.namespace_id = p_namespace_id and a.resource_ids && p_ids
          union
          select a.agent_id, a.key from loci_data.idempotency_keys a cross join unnest(p_quotes) q(said)
          where a.namespace_id = p_namespace_id and strpos(a.response::text, q.said) > 0) g
    where k.namespace_id = p_namespace_id and k.agent_id = g.agent_id and k.key = g.key
$$;
comment on function loci_internal.erase_idempotent_replies(integer, uuid[], text[]) is
    'Replace kept replies that speak of erased things by a problem document.';

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
