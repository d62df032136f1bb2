-- Whose fact is a statement, as far as comparing needs it? subject: the entity that is stated, or with whose name it
-- begins, by its id; a stated name that is no entity in its canonical form; null: its words alone say. party: whom its
-- first person means; first: whether it has one. category: the one stated; null for general. Probes of entity_names.
create or replace function loci_internal.fact_standing(p_namespace_id integer, p_content text, p_about text,
                                                       p_category text, p_source text, p_agent uuid) returns jsonb
language sql stable
as $$
    select jsonb_build_object(
        'subject', coalesce(loci_internal.find_entity_id(p_namespace_id, s.name)::text, loci.canonical_name(s.name)),
        'name', s.name, 'party', loci_internal.memory_party(p_source, p_agent),
        'first', loci.is_first_person(p_content), 'category', nullif(p_category, 'general'))
    from (select coalesce(p_about, loci.leading_entity_of(p_namespace_id, p_content)) as name) s
$$;
comment on function loci_internal.fact_standing(integer, text, text, text, text, uuid) is
    'Subject, party and category of a statement, for comparison with others.';

-- May two statements be about the same? They share the subject, where both have one; the party, where one is in the
-- first person; and one of their categories stands in the other. Pure.
create or replace function loci_internal.may_be_about_the_same(p_one jsonb, p_other jsonb) returns boolean
language sql immutable parallel safe
return coalesce(p_one ->> 'subject' = p_other ->> 'subject', true)
   and (p_one ->> 'party' = p_other ->> 'party' or 'true' not in (p_one ->> 'first', p_other ->> 'first'))
   and loci_internal.categories_meet(p_one ->> 'category', p_other ->> 'category');
comment on function loci_internal.may_be_about_the_same(jsonb, jsonb) is
    'Whether two statements (fact_standing) may be about the same.';

-- Where is looked for what is known beside a fact? Everywhere, and among what is of the same subject or party and
-- category, as filters of a search. Pure.
create or replace function loci_internal.fact_scopes(p_standing jsonb) returns setof jsonb
language sql immutable parallel safe
as $$
    select '{"layers": [2]}'::jsonb
    union
    select jsonb_strip_nulls(jsonb_build_object(
        'layers', '[2]'::jsonb, 'about', p_standing -> 'name', 'category', p_standing -> 'category',
        'party', case when p_standing ->> 'name' is null and (p_standing ->> 'first')::boolean
                      then p_standing -> 'party' end))
$$;
comment on function loci_internal.fact_scopes(jsonb) is
    'Filters under which is searched for what is known beside a fact.';

-- The words by which a statement is compared with others: its subject stands in front, by the entity's own name, where
-- the words do not name it or begin with an alias. So "Lives in Braga" of Rosa and "Rosie lives in Kiel" are both about
-- Rosa. Probes of entity_names.
create or replace function loci_internal.text_to_compare(p_namespace_id integer, p_content text, p_about text)
returns text
language plpgsql stable
as $$
declare
    v_name   text;
    v_phrase text;
begin
    if loci_internal.text_with_subject(p_content, p_about) <> p_content then
        return p_about || ' ' || lower(left(p_content, 1)) || substr(p_content, 2);
    end if;
    v_name := loci.leading_entity_of(p_namespace_id, p_content);
    if v_name is not null and not starts_with(loci.fold_characters(p_content), loci.canonical_name(v_name)) then
        select o.phrase into v_phrase from loci.opening_phrases(p_content) o(phrase)
        where o.phrase = any (loci_internal.names_of(p_namespace_id, v_name))
          and starts_with(loci.fold_characters(p_content), o.phrase)
        order by length(o.phrase) desc limit 1;
        return coalesce(v_name || substr(p_content, length(v_phrase) + 1), p_content);
    end if;
    return p_content;
end $$;
comment on function loci_internal.text_to_compare(integer, text, text) is
    'A statement with its subject in front, by the entity''s own name.';
