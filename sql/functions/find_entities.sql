-- Which known entities does a text name? (Row G5.) The text is cut into tokens; every phrase of up to as many tokens as the
-- namespace's longest name has (at most 12) is looked up in the primary key of entity_names, so that cost follows the text.
-- Index entity_names_tokens gives the longest name. One row an entity: its first place, and the longest name there.
-- Called by match_entities, recall_graph; internal.
create or replace function loci.find_entities(p_namespace_id integer, p_text text)
returns table (id uuid, matched text, is_alias boolean, "position" integer)
language plpgsql stable parallel safe set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_longest integer := least(12, (select max(n.tokens) from loci_data.entity_names n where n.namespace_id = p_namespace_id));
begin
    if v_longest is null then
        return;
    end if;
    return query
    select distinct on (k.entity_id) k.entity_id, substr(p_text, p.place, p.width), k.is_alias, p.place
    from loci.name_phrases(p_text, v_longest) p
    cross join lateral (
        select e.entity_id, e.is_alias from loci_data.entity_names e
        where e.namespace_id = p_namespace_id and e.canonical_name = p.name
        offset 0  -- one look-up a phrase, whatever the planner believes
    ) k
    where length(p.name) >= 3
    order by k.entity_id, p.place, p.width desc;
end $$;
comment on function loci.find_entities(integer, text) is 'Entities whose name or alias stands in a text as whole words; position is the character where it starts. Internal.';
