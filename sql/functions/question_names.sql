-- Which names does a question hold: of entities, and of what one memory alone mentions so far? A name inside a longer one does
-- not count. Entities are found by name_phrases. The beginnings of name_candidates are not indexed: every phrase of up to 8 tokens
-- is looked up in their primary key. Of the first 2,000 characters. Called by linked_memories; internal.
create or replace function loci.question_names(p_namespace_id integer, p_text text)
returns table (name text, entity_id uuid, memory_id uuid)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_text      constant text := left(p_text, 2000);
    v_pieces    constant text[] := loci.name_pieces(loci.fold_characters(v_text));
    v_settings  constant jsonb := loci.settings(p_namespace_id);
    v_shortest  constant integer := (v_settings ->> 'match_length')::integer;
    v_namesakes constant integer := (v_settings ->> 'match_namesakes')::integer;
begin
    return query
    with phrase as (
        select f.first_token, n.tokens, ltrim(array_to_string(v_pieces[f.first_token:f.first_token + n.tokens - 1], ''), ' ') as name
        from generate_subscripts(v_pieces, 1) f(first_token)
        cross join lateral generate_series(1, least(8, cardinality(v_pieces) - f.first_token + 1)) n(tokens)
    ), found as materialized (
        select p.first_token, p.tokens, p.name, k.entity_id, null::uuid as memory_id
        from loci.name_phrases(p_namespace_id, v_text) p
        cross join lateral (
            select e.entity_id from loci_data.entity_names e
            where e.namespace_id = p_namespace_id and e.canonical_name = p.name
            order by e.is_alias, e.entity_id limit v_namesakes) k
        where length(p.name) >= v_shortest
        union all
        select p.first_token, p.tokens, p.name, null, k.memory_id
        from phrase p
        cross join lateral (
            select c.memory_id from loci_data.name_candidates c
            where c.namespace_id = p_namespace_id and c.canonical_name = p.name offset 0) k
        where length(p.name) >= v_shortest
    )
    select f.name, f.entity_id, f.memory_id from found f
    where not exists (select from found w where w.tokens > f.tokens and w.first_token <= f.first_token
                                            and w.first_token + w.tokens >= f.first_token + f.tokens);
end $$;
comment on function loci.question_names(integer, text) is 'Names in a question that entities or single memories are known by. Internal.';
