-- Which entities do the words of a query mean? (Row S3.) Those whose name or alias stands in it as a whole (find_entities); where
-- there is none, those whose name begins with one of its words, stop words apart. Of all types, the most mentioned first, at most p_limit.
-- Bounded: the first 2,000 characters, 2,000 entities; 100 words, 100 entities a word. Index entity_names_pkey, whose order is that of
-- code points, so that a first word is a range of it. Called by resolve_focal; internal.
create or replace function loci.query_entities(p_namespace_id integer, p_query text, p_limit integer) returns uuid[]
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_text  text := left(p_query, 2000);
    v_least integer := loci.settings(p_namespace_id) ->> 'match_length';
    v_found uuid[] := array(select f.id from loci.find_entities(p_namespace_id, v_text) f order by f.position, f.id limit 2000);
begin
    if cardinality(v_found) = 0 then
        v_found := array(
            with word as materialized (
                select distinct loci.canonical_name(t.word) as word from regexp_split_to_table(v_text, '[^[:alnum:]]+') t(word)
                where length(t.word) >= v_least limit 100
            ), telling as materialized (
                select w.word from word w cross join loci_data.namespaces n
                where n.id = p_namespace_id and to_tsvector(n.language, w.word) <> ''
            )
            select k.entity_id from telling w
            cross join lateral (
                select n.entity_id from loci_data.entity_names n
                where n.namespace_id = p_namespace_id and n.canonical_name >= w.word || ' ' and n.canonical_name < w.word || '!'
                order by n.canonical_name limit 100) k);
    end if;
    return array(
        select e.id from (select distinct u.id from unnest(v_found) u(id)) f
        cross join lateral (select o.id, o.mentions from loci_data.entities o
                            where o.namespace_id = p_namespace_id and o.id = f.id limit 1) e
        order by e.mentions desc, e.id limit p_limit);
end $$;
comment on function loci.query_entities(integer, text, integer) is 'Entities that the words of a query mean, most mentioned first. Internal.';
