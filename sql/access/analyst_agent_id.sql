-- The agent of an analyst, by login. One probe of a unique index. Guards what is done to roles: a login that is no
-- analyst is not touched. Security definer: reads agents for a member of the owner that need not inherit its rights.
create or replace function loci_api.analyst_agent_id(p_login name) returns uuid
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_id uuid := (select a.id from loci_data.agents a where a.database_role = p_login);
begin
    if v_id is null then
        raise no_data_found using message = format('%L is not an analyst', p_login), column = 'name',
            hint = '`loci analyst list` shows who is.';
    end if;
    return v_id;
end $$;
comment on function loci_api.analyst_agent_id(name) is
    'Agent of an analyst''s login. Errors: P0002.';
