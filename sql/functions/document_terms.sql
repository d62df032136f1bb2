-- The terms of a text with their frequencies, as postings count them. A tsvector holds at most 1 MiB, so a long text is
-- cut into pieces of 200,000 characters; a normal one is one piece. Called by the index triggers.
create or replace function loci.document_terms(p_language regconfig, p_text text)
returns table (term bigint, frequency bigint)
language sql immutable parallel safe
as $$
    select hashtextextended(u.lexeme, 0), sum(cardinality(u.positions))
    from generate_series(1, greatest(length(p_text), 1), 200000) piece,
         unnest(to_tsvector(p_language, substr(p_text, piece, 200000))) u
    group by u.lexeme
$$;
comment on function loci.document_terms(regconfig, text) is 'Hashed terms of a text and how often each occurs.';
