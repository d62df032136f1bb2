-- What the operations log says of a key: never its hash or fingerprint. Called by what changes keys; internal.
create or replace function loci.shown_key(p_key loci_data.api_keys) returns jsonb
language sql stable set search_path = ''
as $$
    select jsonb_build_object('name', p_key.name, 'agent_id', p_key.agent_id, 'scope', p_key.scope, 'rate_limit', p_key.rate_limit,
                              'expires_at', p_key.expires_at, 'revoked_at', p_key.revoked_at, 'replaced_by', p_key.replaced_by)
$$;
comment on function loci.shown_key(loci_data.api_keys) is 'Fields of an API key that may be shown. Internal.';
