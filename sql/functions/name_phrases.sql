-- Which phrases of a text may be names of entities? Those whose first two tokens begin a name, and that are as long as such a name: few
-- more than there are; callers look them up by canonical name. place and width are characters of the text, first_token and
-- tokens count its tokens. Probes index entity_names_head once for each distinct word and pair of words (name_lengths): cost
-- follows the text. Called by find_entities and question_names; internal.
create or replace function loci.name_phrases(p_namespace_id integer, p_text text)
returns table (place integer, width integer, name text, first_token integer, tokens integer)
language plpgsql stable parallel safe set search_path = '' set plan_cache_mode = force_generic_plan set enable_nestloop = off
as $$
declare
    v_marked  text := loci.mark_tokens(loci.fold_characters(p_text));
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
          from (select unnest(v_pieces) as piece, unnest(v_pieces[2:]) as next) u) t;  -- in the select list: no tuplestore
    select array_agg(l.head), array_agg(l.tokens) into v_heads, v_lengths
    from (select distinct n.head, n.tokens from loci.name_lengths(p_namespace_id, v_singles || v_pairs) n) l;
    if v_heads is null then
        return;
    end if;
    if octet_length(p_text) <> octet_length(v_folded) or octet_length(p_text) <> length(p_text) then
        v_reach := array(select sum(length(u.piece)) over (rows unbounded preceding)
                         from unnest(array_remove(string_to_array(v_marked, E'\x01'), '')) u(piece));
        v_composed := case when p_text is not nfc normalized then loci.composed_places(p_text) end;
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
comment on function loci.name_phrases(integer, text) is 'Phrases of a text that may be names or aliases, in canonical form, with their place and width in it. Internal.';
