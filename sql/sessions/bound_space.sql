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

-- The path that the key of this transaction was made to write under. A maker of keys says so for the home of their
-- agents alone: elsewhere the space may be somebody's. Where the operator has made the key it counts everywhere. Reads
-- loci.space and loci.space_namespace, which loci_api.begin_request sets. Inlined.
create or replace function loci_internal.key_space(p_namespace_id integer) returns text
language sql stable
as $$
    select case when coalesce(current_setting('loci.space_namespace', true), '') in ('', p_namespace_id::text)
                then nullif(current_setting('loci.space', true), '') end
$$;
comment on function loci_internal.key_space(integer) is
    'Path in working memory that the key of this transaction was made for, where it counts; null: none.';

-- Is this space the caller's alone: agent/ and its id, or the very one that its key was made for? Under a key of one
-- segment spaces are taken by who writes them first (reserve_working_memory_slot).
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
