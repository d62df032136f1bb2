-- Kept replies that speak of erased things say so from now on: a retry of the request neither shows what was erased nor writes it
-- again. The hash of the request goes too, so any request with the key gets this answer. GIN index
-- idempotency_keys_resource_ids. Called by erase_memories; internal.
create or replace function loci.erase_replies(p_namespace_id integer, p_ids uuid[]) returns void
language sql volatile set search_path = ''
as $$
    update loci_data.idempotency_keys k
    set status = 410, request_hash = '', resource_ids = '{}', response = jsonb_build_object(
            'type', 'urn:loci:problem:gone', 'title', 'Gone', 'status', 410,
            'detail', 'this request was answered before, and what it was about has been erased since; it is not done again')
    where k.namespace_id = p_namespace_id and k.resource_ids && p_ids
$$;
comment on function loci.erase_replies(integer, uuid[]) is 'Replace kept replies that speak of erased things by a problem document. Internal.';
