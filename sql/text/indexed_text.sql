-- Which words find a memory? Who said it, when it was true (if the writer said so), whom it is about
-- (if the words do not say), the content, its tags and the words
-- of its category. Without the signs that words_apart takes out.
create or replace function loci_internal.indexed_text(p_memory loci_data.memories) returns text
language sql stable parallel safe
as $$
    select loci_internal.words_apart(concat_ws(' ',
    case when p_memory.valid_from <> p_memory.recorded_at
        then to_char(p_memory.valid_from at time zone 'UTC', 'FMDD FMMonth YYYY') end,
    p_memory.source,
    loci_internal.text_with_subject(p_memory.content, p_memory.about),
    nullif(array_to_string(p_memory.tags, ' '), ''),
    case when p_memory.category <> 'general' then translate(p_memory.category, '-', ' ') end))
$$;
comment on function loci_internal.indexed_text(loci_data.memories) is
    'Text under which a memory is indexed: date and source where stated, content, tags, words of the category.';

-- A text without signs that mislead the parser of PostgreSQL: it drops markup, and after `<script>` everything to the
-- end of the text; and it takes words with slashes between them for one, a path, and addresses of mail for one, both
-- found as a whole only. So `tea/coffee` is two words, `service/app.py` is found by `app.py`, and `ines@example.org` by
-- `ines`. Questions are read alike. Pure, inlines.
create or replace function loci_internal.words_apart(p_text text) returns text
language sql immutable parallel safe
return translate(p_text, '</@', '   ');
comment on function loci_internal.words_apart(text) is
    'A text without markup and with the parts of paths and addresses as words of their own.';
