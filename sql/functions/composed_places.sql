-- Where does each character of a text's composed form (NFC) end in the text itself? Only for texts that are not in that form;
-- linear, a row for each base character with what may combine with it. Pure. Called by name_phrases.
create or replace function loci.composed_places(p_text text) returns integer[]
language sql immutable parallel safe
as $$
    select array_agg(c.finish order by c.ordinal, s.i)
    from (select m.ordinal, length(normalize(m.cluster[1], nfc)) as size,
                 (sum(length(m.cluster[1])) over (order by m.ordinal))::integer as finish
          from regexp_matches(p_text, '.[\u0300-\u036F\u0591-\u05BD\u0610-\u061A\u064B-\u065F\u093C\u09BC-\u09D7\u0A3C\u0B3C-\u0B57\u0BBE-\u0BD7\u0C56\u0CC2-\u0CD6\u0D3E-\u0D57\u0DCA-\u0DDF\u102E\u1161-\u1175\u11A8-\u11C2\u1AB0-\u1AFF\u1B35\u1DC0-\u1DFF\u3099\u309A]*', 'g')
               with ordinality m(cluster, ordinal)) c
    cross join generate_series(1, c.size) s(i)
$$;
comment on function loci.composed_places(text) is 'For each character of the composed form (NFC) of a text, how many characters of the text go up to its end. Internal.';
