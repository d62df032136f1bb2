-- Which entities does a text name, by the names that were known at a moment? As find_entities_in_text. Unchanged
-- entities are found by the index of today's names; no index has the earlier names of the others, so each is looked for
-- in the text as a whole word. Cost: that of find_entities_in_text, and about 3 µs for each change of an entity since
-- (index entity_beliefs_until).
create or replace function loci_internal.find_entities_in_text_at(p_namespace_id integer, p_text text,
                                                                  p_known_at timestamptz)
returns table (id uuid, matched text, is_alias boolean, "position" integer)
language plpgsql stable parallel safe set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_settings  constant jsonb := loci_internal.settings(p_namespace_id);
    v_shortest  constant integer := (v_settings ->> 'match_length')::integer;
    v_namesakes constant integer := (v_settings ->> 'match_namesakes')::integer;
    v_folded    constant text := loci.fold_characters(p_text);  -- one for one
    v_single    constant text := loci.canonical_name(p_text);
begin
    return query
    with known as materialized (
        select b.entity_id, k.name as canonical_name, k.name <> b.canonical_name as is_alias,
               row_number() over (partition by k.name order by k.name <> b.canonical_name, b.entity_id) as nth
        from loci_data.entity_beliefs b
        cross join lateral (select b.canonical_name as name
                            union select loci.canonical_name(a.alias) from unnest(b.aliases) a(alias)) k
        where b.namespace_id = p_namespace_id and b.believed_to > p_known_at and b.believed_at <= p_known_at
          and b.merged_into is null and length(k.name) >= v_shortest and strpos(v_single, k.name) > 0
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
    ), changed as (
        select distinct on (p.entity_id) p.entity_id, substr(p_text, p.place, p.width), p.is_alias, p.place
        from place p where p.place > 0
        order by p.entity_id, p.place, p.width desc
    )
    select c.* from changed c
    union all
    select f.id, f.matched, f.is_alias, f.position
    from loci_internal.find_entities_in_text(p_namespace_id, p_text) f
    cross join lateral (select e.created_at from loci_data.entities e
                        where e.namespace_id = p_namespace_id and e.id = f.id limit 1) e
    where e.created_at <= p_known_at
      and not exists (select from loci_data.entity_beliefs b where b.namespace_id = p_namespace_id
                      and b.entity_id = f.id and b.believed_to > p_known_at);
end $$;
comment on function loci_internal.find_entities_in_text_at(integer, text, timestamptz) is
    'Entities whose name or alias, as known at a moment, stands in a text as whole words.';
