-- Every phrase of a text that could be a name: runs of up to p_longest tokens, lower-cased with white space folded, as
-- canonical names are. place and width are those of the original text, in characters. Cost follows the text.
-- Called by find_entities and question_names.
create or replace function loci.name_phrases(p_text text, p_longest integer)
returns table (place integer, width integer, name text)
language sql immutable parallel safe rows 100
as $$
    with token as (  -- finish: where it ends in the text lower-cased with white space folded
        select t.place, t.token, t.piece, (sum(length(t.piece)) over (order by t.place))::integer as finish
        from (select n.position as place, lower(n.token) as token,
                     case when n.glued then '' else ' ' end || lower(n.token) as piece
              from loci.name_tokens(p_text) n) t
    ), ahead as (  -- each token with those that follow it
        select k.place, k.finish - length(k.token) as start,
               substr(string_agg(k.piece, '') over following, length(k.piece) - length(k.token) + 1) as rest,
               array_agg(k.finish) over following as ends, array_agg(k.place + length(k.token)) over following as places
        from token k
        window following as (order by k.place rows between current row and p_longest - 1 following)
    )
    select a.place, a.places[n.length] - a.place, left(a.rest, a.ends[n.length] - a.start)
    from ahead a cross join lateral generate_subscripts(a.ends, 1) n(length)
$$;
comment on function loci.name_phrases(text, integer) is 'Phrases of up to p_longest tokens of a text, in canonical form, with their place and width in it.';
