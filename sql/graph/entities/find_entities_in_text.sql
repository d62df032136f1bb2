-- Which known entities does a text name? Phrases that may be names (name_phrases) are looked up in the
-- primary key of entity_names, each once, so that cost follows the text. Names shorter than setting match_length are
-- not looked for; of those who share an alias, match_namesakes are found. One row an entity: its first place, and the
-- longest name there.
create or replace function loci_internal.find_entities_in_text(p_namespace_id integer, p_text text)
returns table (id uuid, matched text, is_alias boolean, "position" integer)
language plpgsql stable parallel safe set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_settings  constant jsonb := loci_internal.settings(p_namespace_id);
    v_shortest  constant integer := (v_settings ->> 'match_length')::integer;
    v_namesakes constant integer := (v_settings ->> 'match_namesakes')::integer;
    -- ASCII: the bytes are the characters, and are cut out wherever they stand at once
    v_bytes     constant bytea := case when octet_length(p_text) = length(p_text) then convert_to(p_text, 'UTF8') end;
begin
    return query
    select distinct on (k.entity_id) k.entity_id,
           coalesce(convert_from(substring(v_bytes from p.place for p.width), 'UTF8'),
                    substr(p_text, p.place, p.width)),
           k.is_alias, p.place
    from (select distinct on (n.name) n.* from loci_internal.name_phrases(p_namespace_id, p_text) n
          where length(n.name) >= v_shortest order by n.name, n.place) p
    cross join lateral (
        select e.entity_id, e.is_alias from loci_data.entity_names e
        where e.namespace_id = p_namespace_id and e.canonical_name = p.name
        order by e.is_alias, e.entity_id limit v_namesakes
    ) k
    order by k.entity_id, p.place, p.width desc;
end $$;
comment on function loci_internal.find_entities_in_text(integer, text) is
    'Entities whose name or alias stands in a text as whole words; position is the character where it starts.';
