-- Is this the name of a session? 1 to 255 characters. Called by what writes about sessions; internal. Errors: 22023 (session_id).
create or replace function loci.check_session(p_session_id text) returns void
language plpgsql immutable set search_path = ''
as $$
begin
    if p_session_id is null or length(p_session_id) not between 1 and 255 then
        raise invalid_parameter_value using column = 'session_id',
            message = format('session_id must have 1 to 255 characters, not %s', coalesce(length(p_session_id)::text, 'null'));
    end if;
end $$;
comment on function loci.check_session(text) is 'Raise 22023 unless a session is named. Internal.';
