-- Numbers in a text.

-- Which numbers, dates and times stand in a text, and where? In one form however they are written: 1000, 3.5, 10%,
-- 30ms, 5$, 1.2.3, 2024-05-01, --05-01 (no year), 2024-05 (no day), 14:30; number words as digits. `place` counts
-- characters from 0. A date is never reckoned (tomorrow is none), and where the order of day and month is a guess
-- (01/02/2024), it stays as written. One pattern after the other takes what it knows and leaves blanks, so no character
-- is read twice. The text is composed (NFKC) with the digits, hyphens and apostrophes of a keyboard. A session keeps 32
-- compiled patterns, and one more of them in turn has all compiled again: so what can be told by LIKE is, and each kind
-- has one (a split would compile it a second time). Pure; about 0.1 ms.
create or replace function loci_internal.find_numbers(p_text text)
returns table (place integer, spelled text, form text)
language plpgsql immutable parallel safe set search_path = ''
set plan_cache_mode = force_generic_plan
as $$
declare
    v_left   text := translate(p_text, E'\x01', E'\x02');  -- the first of them marks what is found
    v_kind   text;
    v_form   text;
    v_flags  text;
    v_places integer[];
    v_spelled text[];
    v_forms  text[];
begin
    foreach v_kind in array loci_internal.kinds_of_numbers(p_text) loop
        v_form := '(' || loci_internal.number_pattern(v_kind) || ')';
        v_flags := case when v_kind = 'word' then 'i' else '' end;
        with found as materialized (
            select m.nth, m.parts[1] as whole,
                   case when v_kind = 'word' then loci_internal.number_words() ->> lower(m.parts[1])
                       else loci_internal.number_form(v_kind, m.parts[2:]) end as form
            from regexp_matches(v_left, v_form, v_flags || 'g') with ordinality m(parts, nth)
        ), placed as (
            select f.nth, f.whole, f.form, b.piece,
                   (sum(length(b.piece) + coalesce(length(f.whole), 0)) over (order by b.nth))::integer
                       - length(f.whole) as place
            from (select p.piece, (p.nth + 1) / 2 as nth
                  from string_to_table(regexp_replace(v_left, v_form, E'\x01\\1\x01', 'g' || v_flags), E'\x01')
                       with ordinality p(piece, nth) where p.nth % 2 = 1) b
            left join found f on f.nth = b.nth
        )
        select string_agg(p.piece || case when p.form is null then coalesce(p.whole, '')
                          else repeat(' ', length(p.whole)) end, '' order by p.nth),
               array_agg(p.place + length(p.whole) - length(ltrim(p.whole))) filter (where p.form is not null),
               array_agg(btrim(p.whole)) filter (where p.form is not null),
               array_agg(p.form) filter (where p.form is not null)
        into v_left, v_places, v_spelled, v_forms
        from placed p;
        return query select u.* from unnest(v_places, v_spelled, v_forms) u;
    end loop;
end $$;
comment on function loci_internal.find_numbers(text) is
    'Numbers, dates and times of a text: where, as written, and in one form.';

-- Which kinds of numbers may a text have, in the order in which find_numbers looks for them? LIKE decides where it can.
-- Pure.
create or replace function loci_internal.kinds_of_numbers(p_text text) returns text[]
language plpgsql immutable parallel safe
as $$
declare
    v_shape constant text := translate(p_text, '123456789', '000000000');
    v_month constant text := loci_internal.month_pattern();
    v_kinds text[] := '{}';
begin
    if v_shape like '%0%' then
        v_kinds := case when v_shape like any ('{%0-0%,%0/0%,%0.0%}') then array['ymd', 'dmy'] else '{}' end
            || case when v_shape like any ('{%Jan%,%Feb%,%M_r%,%Apr%,%Ma_%,%Jun%,%Jul%,%Aug%,%Sep%,%O_t%,%Nov%,%De_%}')
                         and p_text ~ ('\d[^\d]{0,6}\m' || v_month || '|' || v_month || ' \d')
                then array['dm', 'md', 'my'] else '{}' end
            || case when v_shape like '%0-0%' then array['ym'] else '{}' end
            || case when v_shape like '%0:0%' then array['clock'] else '{}' end
            || case when lower(v_shape) like any ('{%0am%,%0pm%,%0 am%,%0 pm%,%0a.m%,%0p.m%,%0 a.m%,%0 p.m%}')
                then array['half'] else '{}' end
            || case when v_shape like '%0 Uhr%' then array['uhr'] else '{}' end
            || case when v_shape like '%0.0%' then array['version'] else '{}' end
            || case when v_shape like '%0/0%' then array['fraction'] else '{}' end || array['number'];
    end if;
    if loci_internal.number_words() ?| regexp_split_to_array(lower(p_text), '[^[:alpha:]]+') then
        v_kinds := v_kinds || array['word'];
    end if;
    return v_kinds;
end $$;
comment on function loci_internal.kinds_of_numbers(text) is
    'Kinds of numbers that a text may have, in the order in which they are looked for.';

-- The pattern of one kind of numbers, dates and times; number_form reads its groups. Pure.
create or replace function loci_internal.number_pattern(p_kind text) returns text
language plpgsql immutable parallel safe
as $$
declare
    v_month constant text := loci_internal.month_pattern();
    v_m     constant text := '(0?[1-9]|1[0-2])';
    v_d     constant text := '(0?[1-9]|[12]\d|3[01])';
    v_half  constant text := '([AaPp])\.?[Mm]\M\.?';
    v_unit  constant text
        := '(?:[Mm][Ss]|[Ss][Ee][Cc]|[Mm][Ii][Nn]|[KkMmGgTt][Ii]?[Bb]|[Kk][Gg]|[KkCcMm][Mm]|[Pp][Xx]|[Rr][Pp][Mm]|'
           '[KkMm]?[Ww][Hh]|[KkMmGg]?[Hh][Zz]|[Uu][Ss][Dd]|[Ee][Uu][Rr]|[Gg][Bb][Pp]|[Cc][Hh][Ff])';
begin
    return case p_kind
        when 'ymd' then '(?<![\w.])(\d{4})(?:-' || v_m || '-' || v_d || '|/' || v_m || '/' || v_d
            || ')(?:T(?=\d)|(?![\w/-]))'
        when 'dmy' then '(?<![\w.])' || v_d || '\.' || v_m || '\.(\d{4})(?!\.?\w)'
        when 'dm' then '(?<![\w.])(\d{1,2})(?:st|nd|rd|th|\.)? (?:of )?' || v_month || '(?:,? (\d{4})\M)?'
        when 'md' then '\m' || v_month || ' (\d{1,2})(?:st|nd|rd|th)?(?![\w:]|[.,]\d)(?:,? (\d{4})\M)?'
        when 'my' then '\m' || v_month || ' (\d{4})\M'
        when 'ym' then '(?<![\w./-])([12]\d{3})-' || v_m || '(?![\w/-])'
        when 'clock' then '(?<![\w.:])([012]?\d):([0-5]\d)(?::([0-5]\d)(?:\.\d+)?)?(?!\d)(?: ?' || v_half || ')?Z?'
        when 'half' then '(?<![\w.:])(1?\d) ?' || v_half
        when 'uhr' then '(?<![\w.:])([012]?\d)(?:\.([0-5]\d))? Uhr\M'
        when 'version' then '(?<![\w.])v?(\d+(?:\.\d+){2,}(?:-\w[\w.]*\M)?)'
        when 'fraction' then '(?<![\w.])(\d+(?:/\d+)+)\M'
        when 'number' then '(?<!\w)((?<!\))-)?([$€£¥] ?)?v?(\d+(?:[.,'']\d+)*)(?: ?(%|percent\M|Prozent\M|[$€£¥]|'
            || v_unit || '\M)|([A-Za-zµμ°]{1,2}\M))?'
        else '(?<![[:alpha:]])(?<![[:alpha:]]-)(?:'
            || (select string_agg(w, '|') from jsonb_object_keys(loci_internal.number_words()) w)
            || ')(?!-?[[:alpha:]])' end;
end $$;
comment on function loci_internal.number_pattern(text) is 'Pattern of a kind of numbers, dates and times.';

-- The names of months in English and German, as a pattern. Constant, inlines.
create or replace function loci_internal.month_pattern() returns text
language sql immutable parallel safe
return '(Jan(?:uary|uar)?|Feb(?:ruary|ruar)?|Mar(?:ch)?|März|Mär|Apr(?:il)?|May|Mai|June?|Juni|July?|Juli|'
       'Aug(?:ust)?|Sept?(?:ember)?|O[ck]t(?:ober)?|Nov(?:ember)?|De[cz](?:ember)?)\M\.?';
comment on function loci_internal.month_pattern() is 'Names of months in English and German, as a pattern.';

-- The one form of a number that a pattern of find_numbers has found, from the pattern's parts; null where it is none
-- after all (day 45, 27:00). Dates are 2024-05-01, --05-01 without a year, 2024-05 without a day. Points and commas:
-- 1,000 and 1.000,50 have separators of thousands, 3,5 is a decimal. Pure.
create or replace function loci_internal.number_form(p_kind text, p_parts text[]) returns text
language plpgsql immutable parallel safe
as $$
declare
    v_months constant jsonb := '{"jan": 1, "feb": 2, "mar": 3, "mär": 3, "apr": 4, "may": 5, "mai": 5, "jun": 6, '
                               '"jul": 7, "aug": 8, "sep": 9, "oct": 10,
                                 "okt": 10, "nov": 11, "dec": 12, "dez": 12}';
    v_date   text[] := case p_kind  -- year, month, day
        when 'ymd' then array[p_parts[1], coalesce(p_parts[2], p_parts[4]), coalesce(p_parts[3], p_parts[5])]
        when 'dmy' then array[p_parts[3], p_parts[2], p_parts[1]]
        when 'dm' then array[p_parts[3], p_parts[2], p_parts[1]]
        when 'md' then array[p_parts[3], p_parts[1], p_parts[2]]
        when 'my' then array[p_parts[2], p_parts[1], null]
        when 'ym' then array[p_parts[1], p_parts[2], null] end;
    v_time   text[] := case p_kind  -- hour, minute, second, half of the day
        when 'clock' then p_parts[1:4]
        when 'half' then array[p_parts[1], null, null, p_parts[2]]
        when 'uhr' then array[p_parts[1], p_parts[2], null, null] end;
    v_hour   integer := v_time[1];
    v_digits text := p_parts[3];
    v_after  text := lower(coalesce(p_parts[4], p_parts[5], ''));
begin
    if v_date is not null then
        return case when coalesce(v_date[3]::integer between 1 and 31, true)
            then coalesce(v_date[1], '-') || '-' || lpad(coalesce(v_months ->> lower(left(v_date[2], 3)), v_date[2]),
                                                         2, '0') || coalesce('-' || lpad(v_date[3], 2, '0'), '') end;
    elsif v_time is not null then
        v_hour := case when v_time[4] is null then v_hour else v_hour % 12 + case when v_time[4] in ('p', 'P') then 12
            else 0 end end;
        return case when v_hour <= 24 then lpad(v_hour::text, 2, '0') || ':' ||
            coalesce(v_time[2], '00') || coalesce(':' || nullif(v_time[3], '00'), '') end;
    elsif p_kind in ('version', 'fraction') then
        return p_parts[1];
    elsif p_kind <> 'number' then
        return null;
    elsif v_digits ~ '^\d{1,3}(?:(?:,\d{3})+|(?:''\d{3})+)(?:\.\d+)?$|^\d{1,3}(?:\.\d{3})+(?:\.\d{3}|,\d+)$' then
        v_digits := case when v_digits ~ '\..*\.|\..*,' then replace(replace(v_digits, '.', ''), ',', '.')
            else translate(v_digits, ',''', '') end;
    elsif v_digits ~ '^\d+,\d{1,2}$' then
        v_digits := replace(v_digits, ',', '.');
    end if;
    v_after := case when v_after in ('percent', 'prozent') then '%' when v_after in ('st', 'nd', 'rd', 'th') then ''
        else v_after end;
    return coalesce(p_parts[1], '') || v_digits || v_after || btrim(coalesce(p_parts[2], ''));
end $$;
comment on function loci_internal.number_form(text, text[]) is
    'One form of a number, date or time from the parts in which it was found.';

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

-- The same quantity, the same words: number words (number_words) become digits, and a number with a unit of time, size
-- or count is told in seconds, bytes or ones ("2 hours" and "120 min" are 7200 s). Other words pass. Pure.
create or replace function loci_internal.fold_numbers(p_words text[]) returns text[]
language plpgsql immutable parallel safe
as $$
begin
    return (
    with word as (
        select w.place, coalesce(loci_internal.number_words() ->> w.word,
                                 '{"zero": "0", "one": "1", "dozen": "12"}'::jsonb ->> w.word, w.word) as word
        from unnest(p_words) with ordinality w(word, place)
    ), paired as (
        select w.place, w.word, w.word ~ '^\d{1,15}(\.\d{1,9})?$' as number,
               '{"ms": [0.001, "s"], "millisecond": [0.001, "s"], "milliseconds": [0.001, "s"], "s": [1, "s"], "sec": '
               '[1, "s"], "second": [1, "s"],
                 "seconds": [1, "s"], "min": [60, "s"], "minute": [60, "s"], "minutes": [60, "s"], "h": [3600, "s"],
                 "hour": [3600, "s"],
                 "hours": [3600, "s"], "kb": [1000, "byte"], "mb": [1000000, "byte"], "gb": [1000000000, "byte"],
                 "tb": [1000000000000, "byte"],
                 "k": [1000, null], "thousand": [1000, null], "million": [1000000, null], "billion": [1000000000,
                 null]}'::jsonb
                   -> lead(w.word) over (order by w.place) as unit
        from word w
    ), folded as (
        select p.place, case when p.number and p.unit is not null
            then trim_scale(p.word::numeric * (p.unit ->> 0)::numeric)::text else p.word end as word,
               case when p.number then p.unit end as unit, lag(case when p.number then p.unit end)
                   over (order by p.place) as unit_before
        from paired p
    )
    select coalesce(array_agg(coalesce(f.unit_before ->> 1, f.word) order by f.place), '{}')
    from folded f where f.unit_before is null or f.unit_before ->> 1 is not null);
end $$;
comment on function loci_internal.fold_numbers(text[]) is
    'Number words as digits, and quantities in seconds, bytes or ones.';
