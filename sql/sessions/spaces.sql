-- Spaces: prefixes of working memory that one agent owns.

-- The path that the caller's writes to working memory are kept to in a namespace: what its key was made for
-- (key_space), else agent/ and its id. Null: nothing keeps them, for the operator, and for admins whose key was made
-- for no space.
create or replace function loci_internal.bound_space(p_namespace_id integer) returns text
language sql stable
as $$
    select coalesce(loci_internal.key_space(p_namespace_id),
                    case when nullif(current_setting('loci.space', true), '') is not null
                              or not loci_internal.is_admin(p_namespace_id)
                         then 'agent/' || loci.current_agent() end)
$$;
comment on function loci_internal.bound_space(integer) is
    'Path that the caller''s writes to working memory are kept to; null: nothing keeps them.';

-- The path that the key of this transaction was made to write under. The space of a key counts at its agent's home
-- alone: elsewhere it may be somebody else's. A key made by the operator counts everywhere. Reads loci.space and
-- loci.space_namespace, which loci_api.begin_request sets. Inlined.
create or replace function loci_internal.key_space(p_namespace_id integer) returns text
language sql stable
as $$
    select case when coalesce(current_setting('loci.space_namespace', true), '') in ('', p_namespace_id::text)
                then nullif(current_setting('loci.space', true), '') end
$$;
comment on function loci_internal.key_space(integer) is
    'Path in working memory that the key of this transaction was made for, where it counts; null: none.';

-- Is this space the caller's alone: agent/ and its id, or the very one that its key was made for? Under a key of one
-- segment the first writer takes a space (reserve_working_memory_slot).
create or replace function loci_internal.owns_space(p_namespace_id integer, p_space text) returns boolean
language sql stable
as $$
    select p_space = loci_internal.own_space(null)
           or p_space is not distinct from loci_internal.key_space(p_namespace_id)
$$;
comment on function loci_internal.owns_space(integer, text) is
    'Whether a space of working memory is the caller''s own.';

-- Is a path another one, or under it? By segments. Pure, inlines.
create or replace function loci_internal.path_is_within(p_path text, p_of text) returns boolean
language sql immutable parallel safe
as $$
    select p_path = p_of or starts_with(p_path, p_of || '/')
$$;
comment on function loci_internal.path_is_within(text, text) is
    'Whether a path is another one, or under it.';

-- Owner of a context: a space of working memory, two segments. The one that is stated, or that the key was made
-- for; else that of the session; else, and where a session's name holds a slash and so is no segment, the caller's
-- own. Errors: 22023 (space).
create or replace function loci_internal.context_space(p_namespace_id integer, p_space text, p_session_id text)
returns text
language sql stable set search_path = ''
as $$
    select case when p_space is null and loci_internal.session_space(p_session_id) is not null
                     and loci_internal.key_space(p_namespace_id) is distinct from
                         loci_internal.working_memory_space(p_namespace_id, null)
                then loci_internal.session_space(p_session_id)
                else loci_internal.working_memory_space(p_namespace_id, p_space) end
$$;
comment on function loci_internal.context_space(integer, text, text) is
    'The space of working memory that a context is for. Errors: 22023.';

-- Does a context for this space hold what stands there alone? That of a patrol or a subagent does. Pure, inlines.
create or replace function loci_internal.sees_own_space_only(p_space text) returns boolean
language sql immutable parallel safe
as $$
    select split_part(p_space, '/', 1) in ('patrol', 'subagent')
$$;
comment on function loci_internal.sees_own_space_only(text) is
    'Whether a space is that of a patrol or a subagent, which sees nothing else.';

-- The space of working memory of a session; null for a name with a slash, which is no segment, and for none. Pure.
create or replace function loci_internal.session_space(p_session_id text) returns text
language sql immutable parallel safe
as $$
    select case when p_session_id <> '' and p_session_id !~ '/' then 'session/' || p_session_id end
$$;
comment on function loci_internal.session_space(text) is 'The space of working memory of a session.';

-- The caller's own space in working memory, where plain keys stand: the one that the request declares, else own_space.
-- Errors: 22023 (space).
create or replace function loci_internal.working_memory_space(p_namespace_id integer, p_space text) returns text
language sql stable
as $$
    select coalesce(loci_internal.check_space(p_space),
                    loci_internal.own_space(loci_internal.bound_space(p_namespace_id)))
$$;
comment on function loci_internal.working_memory_space(integer, text) is
    'The declared space, checked, or that of the caller. Errors: 22023.';

-- The caller's own space under the path that its writes are bound to: that path; under one of one segment, that and the
-- agent's id; unbound, agent/<its id>, agent/operator for the operator.
create or replace function loci_internal.own_space(p_bound text) returns text
language sql stable
as $$
    select case when p_bound like '%/%' then p_bound
                else coalesce(p_bound, 'agent') || '/'
                     || case when loci_internal.is_operator() then 'operator' else loci.current_agent()::text end end
$$;
comment on function loci_internal.own_space(text) is
    'The caller''s own space of working memory under the path that its writes are bound to.';

-- A declared space as it is: two segments, none of them blank, at most 255 characters, none of them a control
-- character. Null: none. Pure. Errors: 22023 (space).
create or replace function loci_internal.check_space(p_space text) returns text
language plpgsql immutable
as $$
begin
    if p_space !~ '^[^/]+/[^/]+$' or p_space ~ '(^|/)\s+(/|$)'
        or p_space ~ '[\u0001-\u001f\u007f-\u009f]' or p_space ~ '(^|/)\.\.?(/|$)'
        or length(p_space) > 255 then
        raise invalid_parameter_value using column = 'space',
            message = format('space must be two segments such as session/abc, at most 255 characters, not %L',
                             left(p_space, 100));
    end if;
    return p_space;
end $$;
comment on function loci_internal.check_space(text) is
    'A declared space of working memory. Errors: 22023.';
