-- In which pairs of opposites does a stem stand, and on which side? Stem → array such as ["12+", "40-"]: what opposes 12+ is 12-.
-- Constant: folded once a plan (about 1 ms). Called by read_statement; internal.
create or replace function loci.antonym_sides() returns jsonb
language sql immutable parallel safe
as $$
    with pair as (
        select row_number() over (order by a.one, a.other) as number, a.one, a.other from loci.antonyms() a
    ), side as (
        select distinct loci.word_stem(s.word) as stem, s.side
        from pair p cross join lateral (values (p.one, p.number || '+'), (p.other, p.number || '-')) s(word, side)
    )
    select jsonb_object_agg(g.stem, g.sides) from (select s.stem, jsonb_agg(s.side order by s.side) as sides from side s group by s.stem) g
$$;
comment on function loci.antonym_sides() is 'Stem → pairs of opposites and sides in them. Internal.';
