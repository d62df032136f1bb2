-- Which known entities does a text name? Phrases that may be names (name_phrases) are looked up in the
-- primary key of entity_names, each once, so that cost follows the text. Names shorter than setting match_length are
-- not looked for; of those who share an alias, match_namesakes are found. One row an entity: its first place, and the
-- longest name there. p_spelt: the first place where a capital tells that it is one, inside a sentence; else one at the
-- beginning of a sentence, where every word has a capital; else the first.
create or replace function loci_internal.find_entities_in_text(p_namespace_id integer, p_text text,
                                                               p_spelt boolean default false)
returns table (id uuid, matched text, is_alias boolean, "position" integer)
language plpgsql stable parallel safe set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_settings  constant jsonb := loci_internal.settings(p_namespace_id);
    v_shortest  constant integer := (v_settings ->> 'match_length')::integer;
    v_namesakes constant integer := (v_settings ->> 'match_namesakes')::integer;
    -- ASCII: the bytes are the characters, and are cut out wherever they stand at once
    v_bytes     constant bytea := case when octet_length(p_text) = length(p_text) then convert_to(p_text, 'UTF8') end;
    v_letters   constant text[] := case when p_spelt and v_bytes is null then string_to_array(p_text, null) end;
begin
    return query
    select distinct on (k.entity_id) k.entity_id,
           coalesce(convert_from(substring(v_bytes from p.place for p.width), 'UTF8'),
                    substr(p_text, p.place, p.width)),
           k.is_alias, p.place
    from (select distinct on (n.name) n.name, n.place, n.width, c.small
          from loci_internal.name_phrases(p_namespace_id, p_text) n
          cross join lateral (
              select case when not p_spelt then 0
                  when case when v_bytes is not null then get_byte(v_bytes, n.place - 1) between 97 and 122  -- a to z
                            else v_letters[n.place] = lower(v_letters[n.place])
                                 and v_letters[n.place] <> upper(v_letters[n.place]) end then 2
                  when loci_internal.ends_sentence(substr(p_text, greatest(n.place - 4, 1),
                                                          least(n.place - 1, 4)), n.place <= 5) then 1
                  else 0 end as small) c
          where length(n.name) >= v_shortest order by n.name, c.small, n.place) p
    cross join lateral (
        select e.entity_id, e.is_alias from loci_data.entity_names e
        where e.namespace_id = p_namespace_id and e.canonical_name = p.name
        order by e.is_alias, e.entity_id limit v_namesakes
    ) k
    order by k.entity_id, p.small, p.place, p.width desc;
end $$;
comment on function loci_internal.find_entities_in_text(integer, text, boolean) is
    'Entities whose name or alias stands in a text as whole words; position is the character where it starts.';

-- Does a sentence begin behind these few characters? p_whole: they are all that stands before. Behind the end of
-- another one, a colon, a line break or a bullet; a comma ends none. Inlines.
create or replace function loci_internal.ends_sentence(p_before text, p_whole boolean) returns boolean
language sql immutable parallel safe
as $$
    select p_before ~ '[.!?:;\n\u3002\uFF01\uFF1F][[:space:]"''\u201C\u201D\u201E()*#>-]*$'
           or p_whole and p_before ~ '^[[:space:]"''\u201C\u201D\u201E()*#>-]*$'
$$;
comment on function loci_internal.ends_sentence(text, boolean) is
    'Whether a sentence begins behind some characters.';
