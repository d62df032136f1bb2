-- What was true at a moment, as known at a moment? For analysts: every memory that was visible then, newest
-- first, or those that pass the filters of recall. Reads the namespace in the order of arrival; stops at p_limit.
create or replace function loci.memories_as_of(
    p_namespace text, p_as_of timestamptz default null, p_known_at timestamptz default null,
    p_filter jsonb default '{}',
    p_limit integer default null)
returns setof loci.memory_record
language sql stable set search_path = ''
as $$
    select * from loci.list_memories(p_namespace, p_filter, p_limit, null, p_as_of, p_known_at)
$$;
comment on function loci.memories_as_of(text, timestamptz, timestamptz, jsonb, integer) is
    'Memories that were valid at as_of, as believed at known_at (both default to now), newest first. Errors: 42501, '
    'P0002, 22023.';
