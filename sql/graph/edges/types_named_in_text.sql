-- Which types of edges does a text name? Those of which a word has the stem of one of its words, in the language of the
-- namespace: "Who owns the Vault?" names owned_by. The first 1,000 types that the namespace uses are read: one probe
-- of edges_type a type.
create or replace function loci_internal.types_named_in_text(p_namespace_id integer, p_text text) returns text[]
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_language regconfig := (select n.language from loci_data.namespaces n where n.id = p_namespace_id);
    v_words    text[] := tsvector_to_array(to_tsvector(v_language, left(p_text, 10000)));
begin
    if v_words = '{}' then
        return '{}';
    end if;
    return array(
        with recursive used(type) as (
            (select e.type from loci_data.edges e where e.namespace_id = p_namespace_id order by e.type limit 1)
            union all
            select n.type from used u
            cross join lateral (select e.type from loci_data.edges e
                                where e.namespace_id = p_namespace_id and e.type > u.type order by e.type limit 1) n
        )
        select u.type from (select u.type from used u limit 1000) u
        where tsvector_to_array(to_tsvector(v_language, regexp_replace(u.type, '[^[:alnum:]]+', ' ', 'g'))) && v_words
        order by u.type);
end $$;
comment on function loci_internal.types_named_in_text(integer, text) is
    'Types of edges that a text names.';
