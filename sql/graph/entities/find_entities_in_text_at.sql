-- Which entities does a text name, by the names that were known at a moment? As find_entities_in_text, for the past,
-- whose names have no index: each that stands somewhere in the text is looked for as a whole word. Reads all names of
-- the namespace once, about 3 µs each.
create or replace function loci_internal.find_entities_in_text_at(p_namespace_id integer, p_text text,
                                                                  p_known_at timestamptz)
returns table (id uuid, matched text, is_alias boolean, "position" integer)
language plpgsql stable parallel safe set search_path = ''
as $$
declare
    v_settings  constant jsonb := loci_internal.settings(p_namespace_id);
    v_shortest  constant integer := (v_settings ->> 'match_length')::integer;
    v_namesakes constant integer := (v_settings ->> 'match_namesakes')::integer;
    v_folded    constant text := loci.fold_characters(p_text);  -- one for one
    v_single    constant text := loci.canonical_name(p_text);
begin
    return query
    with named as materialized (
        select n.* from loci_internal.entity_names_at(p_namespace_id, p_known_at) n
        where length(n.canonical_name) >= v_shortest and strpos(v_single, n.canonical_name) > 0
    ), known as (
        select n.*, row_number() over (partition by n.canonical_name order by n.is_alias, n.entity_id) as nth
        from named n
    ), pattern as (
        select k.entity_id, k.is_alias,
               case when k.canonical_name ~ '^[[:alnum:]]' then '(?<![[:alnum:]])' else '' end
               || replace(regexp_replace(k.canonical_name, '([^[:alnum:][:space:]])', '\\\1', 'g'), ' ', ' +')
               || case when k.canonical_name ~ '[[:alnum:]]$' then '(?![[:alnum:]])' else '' end as said
        from known k where k.nth <= v_namesakes
    ), place as (
        select p.entity_id, p.is_alias, regexp_instr(v_folded, p.said) as place,
               length(regexp_substr(v_folded, p.said)) as width
        from pattern p
    )
    select distinct on (p.entity_id) p.entity_id, substr(p_text, p.place, p.width), p.is_alias, p.place
    from place p where p.place > 0
    order by p.entity_id, p.place, p.width desc;
end $$;
comment on function loci_internal.find_entities_in_text_at(integer, text, timestamptz) is
    'Entities whose name or alias, as known at a moment, stands in a text as whole words.';
