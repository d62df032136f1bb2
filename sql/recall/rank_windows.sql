-- Which windows of long texts say something of a question? p_windows: parts of texts, p_texts the number of the text
-- that each is part of. Score: BM25 (Robertson and Zaragoza, 2009) with the windows of one text as its documents, so a
-- word that is all over a text tells little; windows without a word of the question have no row. Windows are of about
-- one length, so characters measure them. Reads no table but the namespace: about 1 µs a character. Security definer;
-- checks first. Errors: 42501, P0002.
create or replace function loci_api.rank_windows(p_namespace text, p_query text, p_texts integer[], p_windows text[])
returns table (nth integer, score double precision)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'reader');
    v_language regconfig;
    v_accents  boolean;
    v_terms    bigint[];
begin
    select n.language, n.accents_kept into v_language, v_accents from loci_data.namespaces n where n.id = v_ns;
    select array_agg(t.term) into v_terms
    from loci_internal.document_terms(v_language, replace(left(p_query, 200000), '<', ' '), v_accents) t;
    return query
    with part as materialized (
        select w.text, w.body, w.nth::integer as nth, length(w.body)::double precision as size
        from unnest(p_texts, p_windows) with ordinality w(text, body, nth)
    ), corpus as materialized (
        select p.text, count(*)::double precision as windows, avg(p.size) as mean from part p group by p.text
    ), hit as materialized (
        select p.text, p.nth, p.size, t.frequency::double precision as frequency,
               (count(*) over (partition by p.text, t.term))::double precision as holders
        from part p cross join lateral loci_internal.document_terms(v_language, p.body, v_accents) t
        where t.term = any (v_terms)
    )
    select h.nth, sum(loci_internal.bm25_score(h.frequency, h.holders, c.windows, h.size, c.mean))
    from hit h join corpus c on c.text = h.text group by h.nth order by h.nth;
end $$;
comment on function loci_api.rank_windows(text, text, integer[], text[]) is
    'Windows of long texts by the words of a question that they have, BM25 within each text. Errors: 42501, P0002.';
