-- An analyst may read one more namespace, or longer, or shorter. The operator's, to whom analysts belong: admins invite
-- them by their id (set_grant). In force from the analyst's next statement on.
create or replace function loci_api.grant_analyst(p_namespace text, p_login text,
                                                  p_expires_at timestamptz default null) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'admin');
    v_agent uuid;
begin
    perform loci_internal.require_operator('let an analyst into a namespace');
    v_agent := loci_api.analyst_agent_id(p_login::name);
    perform loci_internal.require_moment_to_come(p_expires_at, 'expires');
    perform loci_internal.lock_grants(v_ns);
    perform loci_internal.give_grant(v_ns, v_agent, 'reader', p_expires_at, true);
end $$;
comment on function loci_api.grant_analyst(text, text, timestamptz) is
    'Let an analyst read a namespace, until a moment or for good. Operator only. Errors: 42501, P0002 (namespace, '
    'login), 22023 (expires).';
