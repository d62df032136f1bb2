-- The terms of a text with their frequencies, as postings count them: words as the configuration stems them, and pairs of characters where
-- a script has no spaces between words (ngrams). The same for memories and for questions, so that they agree. A tsvector
-- holds at most 1 MiB, so a long text is cut into pieces of 200,000 characters; a normal one is one piece. Called by the index
-- triggers and by search_text.
create or replace function loci.document_terms(p_language regconfig, p_text text)
returns table (term bigint, frequency bigint)
language sql immutable parallel safe
as $$
    select hashtextextended(t.lexeme, 0), sum(t.frequency)
    from (select u.lexeme, cardinality(u.positions) as frequency
          from generate_series(1, greatest(length(loci.spaced_text(p_text)), 1), 200000) piece,
               unnest(to_tsvector(p_language, substr(loci.spaced_text(p_text), piece, 200000))) u
          union all
          select g.term, 1 from unnest(loci.ngrams(p_text)) g(term)) t
    group by t.lexeme
$$;
comment on function loci.document_terms(regconfig, text) is 'Hashed terms of a text and how often each occurs.';
