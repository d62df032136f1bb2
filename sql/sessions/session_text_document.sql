-- Which words find an entry of working memory, or a turn of a conversation? Those of its text (session_words), and
-- those with accents also without them (plain_lexeme). No errors.
create or replace function loci_internal.session_text_document(p_namespace_id integer, p_text text) returns tsvector
language sql stable parallel safe
as $$
    select w.words || case when octet_length(p_text) = length(p_text) then ''::tsvector else
        to_tsvector('pg_catalog.simple', coalesce((
            select string_agg(p.lexeme, ' ' order by u.lexeme) from unnest(w.words) u
            cross join lateral (select loci_internal.plain_lexeme(n.language, u.lexeme) as lexeme
                                where octet_length(u.lexeme) <> length(u.lexeme)) p
            where p.lexeme <> u.lexeme), '')) end
    from loci_data.namespaces n
    cross join lateral (select loci_internal.session_words(n.id, p_text) as words offset 0) w
    where n.id = p_namespace_id
$$;
comment on function loci_internal.session_text_document(integer, text) is
    'Words of a text of working memory or of a conversation, also without accents.';

-- The words of a text of working memory or of a conversation, in the namespace's language, with the parts of paths,
-- addresses and compounds as words, and pairs of characters where a script has no spaces between words (ngrams), as in
-- memories. Without `<`, after which the parser would drop what it takes for markup. The first 200,000 characters: a
-- tsvector holds 1 MiB. About 0.2 µs a character. No errors.
create or replace function loci_internal.session_words(p_namespace_id integer, p_text text) returns tsvector
language sql stable parallel safe
as $$
    select to_tsvector(n.language,
                       loci_internal.short_runs(translate(loci_internal.words_apart(loci_internal.spaced_text(t.text)),
                                                          '_-', '  ')))
           || to_tsvector('pg_catalog.simple', coalesce(array_to_string(loci_internal.ngrams(t.text), ' '), ''))
    from loci_data.namespaces n cross join (select left(p_text, 200000) as text) t where n.id = p_namespace_id
$$;
comment on function loci_internal.session_words(integer, text) is
    'Words of a text of working memory or of a conversation.';
