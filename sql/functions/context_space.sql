-- Whose context is built: a space of working memory, two segments (row W1). The one that is stated; else that of the session; else, and where a
-- session's name holds a slash and so is no segment, the caller's own. Called by context_parts; internal. Errors: 22023 (space).
create or replace function loci.context_space(p_space text, p_session_id text) returns text
language sql stable set search_path = ''
as $$
    select case when p_space is null and p_session_id <> '' and p_session_id !~ '/' then 'session/' || p_session_id
                else loci.own_space(p_space) end
$$;
comment on function loci.context_space(text, text) is 'The space of working memory that a context is for. Errors: 22023. Internal.';
