-- The same quantity, the same words: number words (number_words) become digits, and a number with a unit of time, size or count is told in seconds,
-- bytes or ones ("2 hours" and "120 min" are 7200 s). Other words pass. Pure. Called by statement_words; internal.
create or replace function loci.fold_numbers(p_words text[]) returns text[]
language plpgsql immutable parallel safe
as $$
begin
    return (
    with word as (
        select w.place, coalesce(loci.number_words() ->> w.word, '{"zero": "0", "one": "1", "dozen": "12"}'::jsonb ->> w.word, w.word) as word
        from unnest(p_words) with ordinality w(word, place)
    ), paired as (
        select w.place, w.word, w.word ~ '^\d{1,15}(\.\d{1,9})?$' as number,
               '{"ms": [0.001, "s"], "millisecond": [0.001, "s"], "milliseconds": [0.001, "s"], "s": [1, "s"], "sec": [1, "s"], "second": [1, "s"],
                 "seconds": [1, "s"], "min": [60, "s"], "minute": [60, "s"], "minutes": [60, "s"], "h": [3600, "s"], "hour": [3600, "s"],
                 "hours": [3600, "s"], "kb": [1000, "byte"], "mb": [1000000, "byte"], "gb": [1000000000, "byte"], "tb": [1000000000000, "byte"],
                 "k": [1000, null], "thousand": [1000, null], "million": [1000000, null], "billion": [1000000000, null]}'::jsonb
                   -> lead(w.word) over (order by w.place) as unit
        from word w
    ), folded as (
        select p.place, case when p.number and p.unit is not null then trim_scale(p.word::numeric * (p.unit ->> 0)::numeric)::text else p.word end as word,
               case when p.number then p.unit end as unit, lag(case when p.number then p.unit end) over (order by p.place) as unit_before
        from paired p
    )
    select coalesce(array_agg(coalesce(f.unit_before ->> 1, f.word) order by f.place), '{}')
    from folded f where f.unit_before is null or f.unit_before ->> 1 is not null);
end $$;
comment on function loci.fold_numbers(text[]) is 'Number words as digits, and quantities in seconds, bytes or ones. Internal.';
