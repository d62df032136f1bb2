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
    select array_agg(t.single), array_agg((t.single & (-65536)) | (t.next & 65535)), array_agg(t.finish)
    into v_singles, v_pairs, v_ends
    from (select hashtext(ltrim(u.piece, ' ')) as single, hashtext(u.next) as next,
                 (sum(octet_length(u.piece)) over (rows unbounded preceding))::integer as finish
          -- in the select list: no tuplestore
          from (select unnest(v_pieces) as piece, unnest(v_pieces[2:]) as next) u) t;
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
-- probe a head, and neighbouring heads share a page. A scan that finds 2,000 names stops: the head where it stands is
-- asked which lengths it has, one probe a length, and the scan goes on behind it; after four such stops all heads are
-- asked so. So a name costs nothing, however many others begin like it. PostgreSQL 16, which would sort all rows first,
-- asks every head.
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
