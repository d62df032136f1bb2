-- Which numbers, dates and times stand in a text, and where? In one form however they are written: 1000, 3.5, 10%,
-- 30ms, 5$, 1.2.3, 2024-05-01, --05-01 (no year), 2024-05 (no day), 14:30; number words as digits. `place` counts
-- characters from 0. A date is never reckoned (tomorrow is none), and where the order of day and month is a guess
-- (01/02/2024), it stays as written. One pattern after the other takes what it knows and leaves blanks, so no character
-- is read twice. The text is composed (NFKC) with the digits, hyphens and apostrophes of a keyboard. Pure; about 0.1
-- ms.
create or replace function loci_internal.find_numbers(p_text text)
returns table (place integer, spelled text, form text)
language plpgsql immutable parallel safe set search_path = ''
set plan_cache_mode = force_generic_plan
as $$
declare
    v_month  constant text
        := '(Jan(?:uary|uar)?|Feb(?:ruary|ruar)?|Mar(?:ch)?|März|Mär|Apr(?:il)?|May|Mai|June?|Juni|July?|Juli|'
           'Aug(?:ust)?'
                              '|Sept?(?:ember)?|O[ck]t(?:ober)?|Nov(?:ember)?|De[cz](?:ember)?)\M\.?';
    v_m      constant text := '(0?[1-9]|1[0-2])';
    v_d      constant text := '(0?[1-9]|[12]\d|3[01])';
    v_half   constant text := '([AaPp])\.?[Mm]\M\.?';
    v_unit   constant text
        := '(?:[Mm][Ss]|[Ss][Ee][Cc]|[Mm][Ii][Nn]|[KkMmGgTt][Ii]?[Bb]|[Kk][Gg]|[KkCcMm][Mm]|[Pp][Xx]|[Rr][Pp][Mm]|'
           '[KkMm]?[Ww][Hh]'
                              '|[KkMmGg]?[Hh][Zz]|[Uu][Ss][Dd]|[Ee][Uu][Rr]|[Gg][Bb][Pp]|[Cc][Hh][Ff])';
    v_kinds  text[] := '{}';
    v_words  text;
    v_left   text := p_text;
    v_kind   text;
    v_form   text;
    v_flags  text;
    v_places integer[];
    v_spelled text[];
    v_forms  text[];
begin
    if p_text ~ '\d' then
        v_kinds := case when p_text ~ '\d[-/.]\d' then array['ymd', 'dmy'] else '{}' end
            || case when p_text ~ ('\d[^\d]{0,6}\m' || v_month || '|' || v_month || ' \d') then array['dm', 'md', 'my']
                else '{}' end
            || case when p_text ~ '\d-\d' then array['ym'] else '{}' end
            || case when p_text ~ '\d:\d' then array['clock'] else '{}' end
            || case when p_text ~ '\d ?[AaPp]\.?[Mm]' then array['half'] else '{}' end
            || case when p_text ~ '\d Uhr' then array['uhr'] else '{}' end
            || case when p_text ~ '\d\.\d' then array['version'] else '{}' end
            || case when p_text ~ '\d/\d' then array['fraction'] else '{}' end || array['number'];
    end if;
    if loci_internal.number_words() ?| regexp_split_to_array(lower(p_text), '[^[:alpha:]]+') then
        v_kinds := v_kinds || array['word'];
        v_words := (select string_agg(w, '|') from jsonb_object_keys(loci_internal.number_words()) w);
    end if;
    foreach v_kind in array v_kinds loop
        v_form := '(' || case v_kind
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
                || v_unit
                               || '\M)|([A-Za-zµμ°]{1,2}\M))?'
            else '(?<![[:alpha:]])(?<![[:alpha:]]-)(?:' || v_words || ')(?!-?[[:alpha:]])' end || ')';
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
            from regexp_split_to_table(v_left, v_form, v_flags) with ordinality b(piece, nth) left join found f
                on f.nth = b.nth
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
