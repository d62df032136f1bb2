-- The text of an entry of working memory: key, value, category, tags. A JSON string is its text; of other JSON the
-- names and values, escapes taken for spaces, so that no word begins with the letter of an escape. Pure.
create or replace function loci_internal.working_memory_text(p_key text, p_value jsonb, p_category text, p_tags text[])
returns text
language sql immutable parallel safe
as $$
    select concat_ws(' ', p_key,
                     case when jsonb_typeof(p_value) = 'string' then p_value #>> '{}'
                          else regexp_replace(p_value::text, '\\(u[0-9a-f]{4}|.)', ' ', 'g') end,
                     p_category, array_to_string(p_tags, ' '))
$$;
comment on function loci_internal.working_memory_text(text, jsonb, text, text[]) is
    'Text under which an entry of working memory is found.';
