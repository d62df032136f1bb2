-- Is a text a question, which states nothing? It ends with a question mark, in any script; not where it only asks for
-- assent (Bob likes tea, right?). Pure, inlines.
create or replace function loci_internal.is_question(p_text text) returns boolean
language sql immutable parallel safe
as $$
    select p_text ~ '[?\uFF1F\u061F]["''\u201C\u201D\u2019\u00BB\u300D)\]]*\s*$'
       and p_text !~* ',\s*(right|correct|ok|okay|oder|nicht wahr|stimmt''?s|gell)\s*\?\s*$'
$$;
comment on function loci_internal.is_question(text) is 'Whether a text is a question.';

-- Which items are questions, by their place? Pure.
create or replace function loci_internal.questions_among(p_items jsonb) returns integer[]
language sql immutable parallel safe
as $$
    select array(select (i.place - 1)::integer from jsonb_array_elements(p_items) with ordinality i(value, place)
                 where loci_internal.is_question(i.value ->> 'content') order by i.place)
$$;
comment on function loci_internal.questions_among(jsonb) is 'Places of the items that are questions.';
