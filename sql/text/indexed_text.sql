-- Which words find a memory? Who said it, when it was true (if the writer said so), the content, its tags and the words
-- of its category. Without `<`: the parser of PostgreSQL drops markup, and after `<script>` everything to the end of
-- the text.
create or replace function loci_internal.indexed_text(p_memory loci_data.memories) returns text
language sql stable parallel safe
as $$
    select replace(concat_ws(' ',
    case when p_memory.valid_from <> p_memory.recorded_at
        then to_char(p_memory.valid_from at time zone 'UTC', 'FMDD FMMonth YYYY') end,
    p_memory.source,
    p_memory.content,
    nullif(array_to_string(p_memory.tags, ' '), ''),
    case when p_memory.category <> 'general' then translate(p_memory.category, '/-', '  ') end), '<', ' ')
$$;
comment on function loci_internal.indexed_text(loci_data.memories) is
    'Text under which a memory is indexed: date and source where stated, content, tags, words of the category.';
