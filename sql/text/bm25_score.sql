-- What does one word add to a document's score (BM25, Robertson and Zaragoza, 2009; k1 = 1.2, b = 0.75)? p_frequency:
-- of the word in the document; p_holders: documents that have it, of p_documents; p_length against p_mean: words of the
-- document, and on average. Pure, inlines.
create or replace function loci_internal.bm25_score(
    p_frequency double precision, p_holders double precision, p_documents double precision, p_length double precision,
    p_mean double precision)
returns double precision
language sql immutable parallel safe
return ln(1 + (p_documents - p_holders + 0.5) / (p_holders + 0.5)) * 2.2 * p_frequency
       / (p_frequency + 1.2 * (0.25 + 0.75 * p_length / greatest(p_mean, 1)));
comment on function loci_internal.bm25_score(double precision, double precision, double precision, double precision,
                                             double precision) is
    'Score of one word in a document.';
