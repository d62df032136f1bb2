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
