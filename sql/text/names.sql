-- Names: canonical forms, spelling, and phrases of a text that may be names.

-- The form under which a name is unique, and in which texts are searched for it: lower-cased, white space folded,
-- composed (NFC), with apostrophes, quotes and dashes of a keyboard. See fold_characters. Pure, inlines.
create or replace function loci.canonical_name(p_name text) returns text
language sql immutable parallel safe
as $$
    select btrim(regexp_replace(loci.fold_characters(p_name), '  +', ' ', 'g'))
$$;
comment on function loci.canonical_name(text) is
    'Name lower-cased and composed (NFC), with white space folded to single spaces, and plain apostrophes, quotes and '
    'dashes.';

-- A text in the characters by which names are compared, one for one after composition (NFC): lower-cased; white space
-- and controls of every kind are a space; typographic apostrophes, quotes, dashes and minus are those of a keyboard; a
-- final sigma is a sigma. ASCII takes the short way; the other needs a database in UTF-8. Pure, inlines.
create or replace function loci.fold_characters(p_text text) returns text
language sql immutable parallel safe
as $$
    select case when octet_length(p_text) = length(p_text)
        then lower(regexp_replace(p_text, '[\u0001-\u001F\u007F]', ' ', 'g'))
                else loci.fold_unicode(p_text) end
$$;
comment on function loci.fold_characters(text) is
    'Text lower-cased, with white space, apostrophes, quotes and dashes of all kinds as those of a keyboard; one '
    'character for each of its composed form (NFC).';

-- The part of fold_characters for texts beyond ASCII. The capital I with a dot becomes i, whatever the locale,
-- because lower() may make two characters of it. Pure, inlines.
create or replace function loci.fold_unicode(p_text text) returns text
language sql immutable parallel safe
return replace(lower(replace(
    regexp_replace(regexp_replace(regexp_replace(regexp_replace(
        case when p_text is nfc normalized then p_text else normalize(p_text, nfc) end,
        '[\u0001-\u001F\u007F-\u00A0\u1680\u2000-\u200B\u2028\u2029\u202F\u205F\u3000\uFEFF]', ' ', 'g'),
        '[\u02B9\u02BB\u02BC\u2018\u2019\u201B\u2032\uFF07]', '''', 'g'),
        '[\u2010-\u2015\u2212\uFE58\uFE63\uFF0D]', '-', 'g'),
        '[\u201C-\u201F\u2033\uFF02]', '"', 'g'),
    U&'\0130', 'i')), U&'\03C2', U&'\03C3');
comment on function loci.fold_unicode(text) is
    'The characters by which names are compared, for a text that is not ASCII; see fold_characters.';

-- A type of edges or entities in its one form: "Works On", "worksOn", "works-on" and "works_on" are works_on, and
-- "HTTPServer" is http_server. Composed (NFC), lower case; a new word begins with a capital behind a small letter, or
-- with the last of several; runs of white space, hyphens and underscores are one underscore, none at the ends. Pure,
-- inlines.
create or replace function loci.canonical_type(p_type text) returns text
language sql immutable parallel safe
as $$
    select btrim(lower(regexp_replace(regexp_replace(
        normalize(p_type, nfc), '([[:lower:]])(?=[[:upper:]])|([[:upper:]])(?=[[:upper:]][[:lower:]])', '\1\2_', 'g'),
        '[\s_-]+', '_', 'g')), '_')
$$;
comment on function loci.canonical_type(text) is
    'Type of an edge or entity in its one form: works_on for "Works On" and "worksOn".';

-- The tokens of a folded text, each with the space before it; see mark_tokens. Pure, inlines.
create or replace function loci_internal.name_tokens(p_folded text) returns text[]
language sql immutable parallel safe
as $$
    select array_remove(string_to_array(replace(loci_internal.mark_tokens(p_folded), E'\x02', ''), E'\x01'), '')
$$;
comment on function loci_internal.name_tokens(text) is
    'Tokens of a folded text, each with the space before it.';

-- Under which key are two spellings of a name the same? Case, accents of Latin and Greek letters, and what only joins
-- parts go: spaces, hyphens, dots, apostrophes and underscores between two letters, or between a letter and a digit; a
-- dot or comma at the end. Everything else stays, for it may be the difference: signs (C, C++, C#), marks at the edge
-- (.NET, NET), and what stands between two digits (v1.0, v10). Null where too little is left to be sure: fewer than 4
-- letters and digits. Pure.
create or replace function loci_internal.name_spelling_key(p_name text) returns text
language sql immutable parallel safe
as $$
    select case when length(regexp_replace(k.key, '[^[:alnum:]]', '', 'g')) >= 4 then k.key end
    from (select regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
              lower(normalize(btrim(p_name), NFD)), '([a-zα-ω])[\u0300-\u036f]+', '\1', 'g'),
              '(?<=[0-9])[ \u00a0]+(?=[0-9])', ' ', 'g'),
              '(?<=[[:alpha:]])[\s._''’‐‑–-]+(?=[[:alnum:]])', '', 'g'),
              '(?<=[0-9])[\s._''’‐‑–-]+(?=[[:alpha:]])', '', 'g'),
              '(?<=[[:alpha:]])[.,]+$', '', 'g') as key) k
$$;
comment on function loci_internal.name_spelling_key(text) is
    'Key that spellings of one name share: without case, accents, spaces and joining marks; null where it would be '
    'too short.';

-- The name that was probably meant: of those known the one that shares the most pairs of letters with it; null where
-- none shares any. Its first hundred letters count. Reads what it is given.
create or replace function loci_internal.nearest_name(p_name text, p_known text[]) returns text
language sql immutable parallel safe set search_path = ''
return (
    select k.name
    from unnest(p_known) k(name)
    cross join lateral (select count(*) as shared from generate_series(1, least(length(p_name), 100) - 1) i
                        where position(lower(substr(p_name, i, 2)) in lower(k.name)) > 0) s
    where s.shared > 0
    order by s.shared::double precision / greatest(length(p_name), length(k.name)) desc, k.name limit 1);
comment on function loci_internal.nearest_name(text, text[]) is
    'The known name that shares the most pairs of letters with this one, or null.';

-- Which phrases of a text may be names of entities? Those whose first two tokens begin a name, and that are as long as
-- such a name: few more than there are; callers look them up by canonical name. place and width are characters of the
-- text, first_token and tokens count its tokens. Probes index entity_names_head once for each distinct word and pair of
-- words (name_lengths): cost follows the text.
create or replace function loci_internal.name_phrases(p_namespace_id integer, p_text text)
returns table (place integer, width integer, name text, first_token integer, tokens integer)
language plpgsql stable parallel safe set search_path = '' set plan_cache_mode = force_generic_plan
set enable_nestloop = off
as $$
declare
    v_marked  text := loci_internal.mark_tokens(loci.fold_characters(p_text));
    v_pieces  text[] := array_remove(string_to_array(replace(v_marked, E'\x02', ''), E'\x01'), '');
    v_folded  bytea := convert_to(array_to_string(v_pieces, ''), 'UTF8');
    v_count   integer := cardinality(v_pieces);
    v_singles integer[];
    v_pairs   integer[];
    v_ends    integer[];  -- of tokens, in bytes of the folded text
    v_heads   integer[];
    v_lengths integer[];
    v_reach   integer[];  -- the same in characters of the text, composed; null: they are those bytes
    v_composed integer[];
begin
    select h.singles, h.pairs, h.ends into v_singles, v_pairs, v_ends from loci_internal.hash_tokens(v_pieces) h;
    select array_agg(l.head), array_agg(l.tokens) into v_heads, v_lengths
    from (select distinct n.head, n.tokens from loci_internal.name_lengths(p_namespace_id, v_singles || v_pairs) n) l;
    if v_heads is null then
        return;
    end if;
    if octet_length(p_text) <> octet_length(v_folded) or octet_length(p_text) <> length(p_text) then
        v_reach := array(select sum(length(u.piece)) over (rows unbounded preceding)
                         from unnest(array_remove(string_to_array(v_marked, E'\x01'), '')) u(piece));
        v_composed := case when p_text is not nfc normalized then loci_internal.composed_positions(p_text) end;
    end if;
    return query
    select coalesce(v_composed[f.before], f.before) + 1,
           coalesce(v_composed[f.up_to], f.up_to) - coalesce(v_composed[f.before], f.before),
           convert_from(substring(v_folded from f.first + 1 for f.last - f.first), 'UTF8'), f.ordinal, f.tokens
    from (
        select o.ordinal, s.tokens, b.first, v_ends[o.last] as last,
               case when v_reach is null then b.first else v_reach[o.ordinal] - length(b.token) end as before,
               case when v_reach is null then v_ends[o.last] else v_reach[o.last] end as up_to
        from unnest(v_singles || v_pairs) with ordinality t(head, nth)
        -- the condition says nothing, but the planner takes this for the smaller side
        join (select * from unnest(v_heads, v_lengths) u(head, tokens) where u.tokens > 0) s
             on s.head = t.head and (s.tokens = 1) = (t.nth <= v_count)
        cross join lateral (select (t.nth - 1)::integer % v_count + 1 as ordinal,
                                   (t.nth - 1)::integer % v_count + s.tokens as last) o
        cross join lateral (select ltrim(v_pieces[o.ordinal], ' ') as token,
                                   v_ends[o.ordinal] - octet_length(ltrim(v_pieces[o.ordinal], ' ')) as first) b
    ) f
    where f.last is not null;
end $$;
comment on function loci_internal.name_phrases(integer, text) is
    'Phrases of a text that may be names or aliases, in canonical form, with their place and width in it.';

-- Heads of the names that may begin at each token of a text (name_prefix_hash): of one token, and of it with the
-- next. ends: where tokens end, in bytes. Pure.
create or replace function loci_internal.hash_tokens(p_pieces text[], out singles integer[], out pairs integer[],
                                                     out ends integer[])
language plpgsql immutable parallel safe
as $$
begin
    select array_agg(t.single), array_agg((t.single & (-65536)) | (t.next & 65535)), array_agg(t.finish)
    into singles, pairs, ends
    from (select hashtext(ltrim(u.piece, ' ')) as single, hashtext(u.next) as next,
                 (sum(octet_length(u.piece)) over (rows unbounded preceding))::integer as finish
          -- in the select list: no tuplestore
          from (select unnest(p_pieces) as piece, unnest(p_pieces[2:]) as next) u) t;
end $$;
comment on function loci_internal.hash_tokens(text[]) is
    'Heads of names that may begin at each token, and where tokens end.';

-- Where does each character of a text's composed form (NFC) end in the text itself? Only for texts that are not in that
-- form; linear, a row for each base character with what may combine with it. Pure.
create or replace function loci_internal.composed_positions(p_text text) returns integer[]
language sql immutable parallel safe
as $$
    select array_agg(c.finish order by c.ordinal, s.i)
    from (select m.ordinal, length(normalize(m.cluster[1], nfc)) as size,
                 (sum(length(m.cluster[1])) over (order by m.ordinal))::integer as finish
          from regexp_matches(p_text,
                              '.[\u0300-\u036F\u0591-\u05BD\u0610-\u061A\u064B-\u065F\u093C\u09BC-\u09D7\u0A3C'
                              '\u0B3C-\u0B57\u0BBE-\u0BD7\u0C56\u0CC2-\u0CD6\u0D3E-\u0D57\u0DCA-\u0DDF\u102E\u1161-'
                              '\u1175\u11A8-\u11C2\u1AB0-\u1AFF\u1B35\u1DC0-\u1DFF\u3099\u309A]*', 'g')
               with ordinality m(cluster, ordinal)) c
    cross join generate_series(1, c.size) s(i)
$$;
comment on function loci_internal.composed_positions(text) is
    'For each character of the composed form (NFC) of a text, how many characters of the text go up to its end.';

-- How many tokens have the names that begin with these heads? Reads index entity_names_head alone, in its order: one
-- probe a head, and neighbouring heads share a page. A scan that finds 2,000 names stops: it asks which lengths the
-- head at that position has, one probe a length, and goes on behind it; after four such stops it asks all heads so. So
-- a name costs nothing, however many others begin like it. PostgreSQL 16, which would sort all rows first, asks every
-- head.
create or replace function loci_internal.name_lengths(p_namespace_id integer, p_heads integer[])
returns table (head integer, tokens integer)
language plpgsql stable parallel safe set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
    v_most   constant integer := 2000;
    v_rounds integer := case when current_setting('server_version_num')::integer >= 170000 then 4 else 0 end;
    v_rest   integer[] := p_heads;
    v_asked  integer[] := '{}';
    v_heads  integer[];
    v_tokens integer[];
begin
    while v_rounds > 0 and cardinality(v_rest) > 0 loop
        select array_agg(k.head), array_agg(k.tokens) into v_heads, v_tokens
        from (select n.head, n.tokens from loci_data.entity_names n
              where n.namespace_id = p_namespace_id and n.head = any (v_rest) order by n.head limit v_most) k;
        return query select distinct u.head, u.tokens from unnest(v_heads, v_tokens) u(head, tokens);
        if coalesce(cardinality(v_heads), 0) < v_most then
            v_rest := '{}';
        else
            v_asked := v_asked || v_heads[v_most];
            v_rest := array(select u from unnest(v_rest) u where u > v_heads[v_most]);
        end if;
        v_rounds := v_rounds - 1;
    end loop;
    v_asked := v_asked || v_rest;
    if cardinality(v_asked) > 0 then
        return query
        with recursive length as (
            select h.head, (select n.tokens from loci_data.entity_names n
                            where n.namespace_id = p_namespace_id and n.head = h.head
                            order by n.tokens limit 1) as tokens
            from (select distinct u.head from unnest(v_asked) u(head)) h
            union all
            select l.head, (select n.tokens from loci_data.entity_names n
                            where n.namespace_id = p_namespace_id and n.head = l.head and n.tokens > l.tokens
                            order by n.tokens limit 1)
            from length l where l.tokens is not null
        )
        select l.head, l.tokens::integer from length l where l.tokens is not null;
    end if;
end $$;
comment on function loci_internal.name_lengths(integer, integer[]) is
    'Numbers of tokens that names with these heads have; a pair may come twice.';
