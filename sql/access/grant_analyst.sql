-- An analyst may read one more namespace, or longer, or shorter. Admin of the namespace. In force from the analyst's
-- next statement on.
create or replace function loci_api.grant_analyst(p_namespace text, p_login text,
                                                  p_expires_at timestamptz default null) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'admin');
begin
    if p_expires_at <= clock_timestamp() then
        raise invalid_parameter_value using message = format('expires must be in the future, not %s', p_expires_at),
            column = 'expires';
    end if;
    insert into loci_data.grants as g (namespace_id, agent_id, role, expires_at)
    values (v_ns, loci_api.analyst_agent_id(p_login::name), 'reader', p_expires_at)
    on conflict (namespace_id, agent_id) do update set expires_at = excluded.expires_at where g.expires_at
        is distinct from excluded.expires_at;
end $$;
comment on function loci_api.grant_analyst(text, text, timestamptz) is
    'Let an analyst read a namespace, until a moment or for good. Admin. Errors: 42501, P0002 (namespace, login), '
    '22023 (expires).';
