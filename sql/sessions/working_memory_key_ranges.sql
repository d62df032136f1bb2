-- Where do the keys of a prefix stand? By segments, so that session/a never has session/ab/x: the key itself, and what
-- begins with it and a slash. A null or empty prefix is everything. Two ranges of the primary key, whose order is that
-- of code points; no key has a character below the space. Pure, inlines.
create or replace function loci_internal.working_memory_key_ranges(p_prefix text)
returns table (lowest text, bound text)
language sql immutable parallel safe
as $$
    select v.lowest, v.bound
    from (values (rtrim(p_prefix, '/'), rtrim(p_prefix, '/') || E'\x01'),
          (rtrim(p_prefix, '/') || '/', rtrim(p_prefix, '/') || '0'))
         v(lowest, bound)
    where p_prefix <> ''
    union all
    select '', repeat(U&'\+10FFFF', 513) where coalesce(p_prefix, '') = ''
$$;
comment on function loci_internal.working_memory_key_ranges(text) is
    'Ranges of keys (from, before) under a prefix of whole segments.';
