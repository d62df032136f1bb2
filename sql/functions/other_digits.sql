-- The decimal digits of all scripts but those of a keyboard, ten after ten from 0 to 9 (Unicode 15, those that NFKC leaves). Constant.
create or replace function loci.other_digits() returns text
language sql immutable parallel safe
as $$
    select string_agg(chr(ascii(z.zero) + d.digit), '' order by z.nth, d.digit)
    from unnest(string_to_array(U&'\0660\06F0\07C0\0966\09E6\0A66\0AE6\0B66\0BE6\0C66\0CE6\0D66\0DE6\0E50\0ED0\0F20\1040\1090\17E0\1810\1946\19D0'
            '\1A80\1A90\1B50\1BB0\1C40\1C50\A620\A8D0\A900\A9D0\A9F0\AA50\ABF0\+0104A0\+010D30\+011066\+0110F0\+011136\+0111D0\+0112F0\+011450'
            '\+0114D0\+011650\+0116C0\+011730\+0118E0\+011950\+011C50\+011D50\+011DA0\+016A60\+016AC0\+016B50\+01E140\+01E2F0\+01E950', null))
        with ordinality z(zero, nth)
    cross join generate_series(0, 9) d(digit)
$$;
comment on function loci.other_digits() is 'Decimal digits of other scripts, from 0 to 9 for each. Internal.';
