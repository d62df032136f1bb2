-- Which words say a number, in English and German? Word (folded) → digits. Compounds (twenty-one) are put together
-- here, so that nobody adds up. Constant: folded once a plan.
create or replace function loci_internal.number_words() returns jsonb
language sql immutable parallel safe
as $$
    with unit as (
        select word, value
        from unnest(
            '{two,three,four,five,six,seven,eight,nine,ten,eleven,twelve,thirteen,fourteen,fifteen,sixteen,seventeen,'
            'eighteen,nineteen}'::text[])
            with ordinality u(word, nth) cross join lateral (select nth + 1 as value) v
    ), ten as (
        select word, 10 * (nth + 1) as value
        from unnest('{twenty,thirty,forty,fifty,sixty,seventy,eighty,ninety}'::text[]) with ordinality t(word, nth)
    ), german as (
        select word, nth + 1 as value
        from unnest('{zwei,drei,vier,fünf,sechs,sieben,acht,neun,zehn,elf,zwölf}'::text[]) with ordinality g(word, nth)
    )
    select jsonb_object_agg(w.word, w.value::text)
    from (select word, value from unit union all select word, value from ten union all select word, value from german
          union all select t.word || '-' || u.word, t.value + u.value
          from ten t cross join (select word, value from unit where value < 10 union all values ('one', 1)) u) w
$$;
comment on function loci_internal.number_words() is
    'Words that say a number, in English and German: word → digits.';
