-- Which names does a question hold: of entities, and of what one memory alone mentions so far? A name inside a longer
-- one does not count. Entities are found by name_phrases. The beginnings of name_candidates are not indexed: every
-- phrase of up to 8 tokens is looked up in their primary key. A name that was only read out of texts counts where the
-- question means it as a name: it is written with a capital or a digit, and is not the lone first word, which always
-- is; or three of four memories that have its rarest word have it as this name; or the question knows no capitals,
-- and it has several words.
-- Headings make "The" and "Books" names, and a question about books should not be led by them. The first 2,000
--  characters are read.
create or replace function loci_internal.question_names(p_namespace_id integer, p_text text)
returns table (name text, entity_id uuid, memory_id uuid)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_text      constant text := left(p_text, 2000);
    v_pieces    constant text[] := loci_internal.name_tokens(loci.fold_characters(v_text));
    v_written   constant text[] := loci_internal.name_tokens(v_text);
    v_cased     constant boolean := v_text <> lower(v_text);
    v_settings  constant jsonb := loci_internal.settings(p_namespace_id);
    v_shortest  constant integer := (v_settings ->> 'match_length')::integer;
    v_namesakes constant integer := (v_settings ->> 'match_namesakes')::integer;
begin
    return query
    with phrase as (
        select f.first_token, n.tokens,
               ltrim(array_to_string(v_pieces[f.first_token:f.first_token + n.tokens - 1], ''), ' ') as name
        from generate_subscripts(v_pieces, 1) f(first_token)
        cross join lateral generate_series(1, least(8, cardinality(v_pieces) - f.first_token + 1)) n(tokens)
    ), found as materialized (
        select p.first_token, p.tokens, p.name, k.entity_id, null::uuid as memory_id, k.type, k.mentions
        from loci_internal.name_phrases(p_namespace_id, v_text) p
        cross join lateral (
            select e.entity_id, o.type, o.mentions from loci_data.entity_names e
            join loci_data.entities o on o.namespace_id = p_namespace_id and o.id = e.entity_id
            where e.namespace_id = p_namespace_id and e.canonical_name = p.name
            order by e.is_alias, e.entity_id limit v_namesakes) k
        where length(p.name) >= v_shortest
        union all
        select p.first_token, p.tokens, p.name, null, k.memory_id, 'extracted', 1
        from phrase p
        cross join lateral (
            select c.memory_id from loci_data.name_candidates c
            where c.namespace_id = p_namespace_id and c.canonical_name = p.name offset 0) k
        where length(p.name) >= v_shortest
    ), meant as (
        select f.*, array_to_string(v_written[f.first_token:f.first_token + f.tokens - 1], '') as written from found f
    )
    select f.name, f.entity_id, f.memory_id from meant f
    where not exists (select from found w where w.tokens > f.tokens and w.first_token <= f.first_token
                                            and w.first_token + w.tokens >= f.first_token + f.tokens)
      and (f.type <> 'extracted'
           or (f.written <> lower(f.written) or f.written ~ '\d' or lower(f.name) = upper(f.name))
              and (f.first_token > 1 or f.tokens > 1)
           or not v_cased and f.name ~ '\S\s+\S'
           or loci_internal.is_mostly_name(p_namespace_id, f.name, f.mentions));
end $$;
comment on function loci_internal.question_names(integer, text) is
    'Names in a question that entities or single memories are known by.';

-- Do three of four memories that have the rarest word of a name have it as that name? p_mentions: how many mention it.
-- A range of postings for each word.
create or replace function loci_internal.is_mostly_name(p_namespace_id integer, p_name text, p_mentions bigint)
returns boolean
language sql stable set search_path = ''
as $$
    select coalesce(p_mentions >= 0.75 * min(w.memories), false)
    from (select f.df as memories
          from loci_data.namespaces n
          cross join lateral loci_internal.document_terms(n.language, p_name) t
          cross join lateral loci_internal.document_frequency(p_namespace_id, t.term) f
          where n.id = p_namespace_id) w
$$;
comment on function loci_internal.is_mostly_name(integer, text, bigint) is
    'Whether most memories with a word of a name have it as that name.';
