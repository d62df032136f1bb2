-- Writers of one session wait for each other, to the end of the transaction: numbers of turns are drawn under this
-- lock, so within a session they are seen in the order in which they are committed. No errors.
create or replace function loci_internal.lock_session(p_namespace_id integer, p_session_id text) returns void
language sql volatile
as $$
    select loci_internal.take_turn(p_namespace_id, 'session ' || p_session_id)
$$;
comment on function loci_internal.lock_session(integer, text) is
    'Lock a session against other writers of its turns.';

-- Is this the name of a session? 1 to 255 characters. Errors: 22023 (session_id).
create or replace function loci_internal.check_session(p_session_id text) returns void
language plpgsql immutable set search_path = ''
as $$
begin
    if p_session_id is null or length(p_session_id) not between 1 and 255 then
        raise invalid_parameter_value using column = 'session_id',
            message = format('session_id must have 1 to 255 characters, not %s',
                             coalesce(length(p_session_id)::text, 'null'));
    end if;
end $$;
comment on function loci_internal.check_session(text) is
    'Raise 22023 unless a session is named.';
