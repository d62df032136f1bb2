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

-- The space of working memory of a session; null for a name with a slash, which is no segment, and for none. Pure.
create or replace function loci_internal.session_space(p_session_id text) returns text
language sql immutable parallel safe
as $$
    select case when p_session_id <> '' and p_session_id !~ '/' then 'session/' || p_session_id end
$$;
comment on function loci_internal.session_space(text) is 'The space of working memory of a session.';
