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
