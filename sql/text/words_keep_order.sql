-- Do the words of one statement stand in another in the same order? What opens the one may close the other ("on Fridays
-- the office is closed"), so a rotation keeps the order; subject and object exchanged (Ann manages Bob) do not. Pure.
create or replace function loci_internal.words_keep_order(p_part text[], p_whole text[]) returns boolean
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_place integer;
    v_word  text;
begin
    if not p_part <@ p_whole then
        return false;
    end if;
    for v_first in 1 .. cardinality(p_part) loop
        v_place := 0;
        foreach v_word in array p_part[v_first:] || p_part[:v_first - 1] loop
            v_place := array_position(p_whole, v_word, v_place + 1);
            exit when v_place is null;
        end loop;
        if v_place is not null then
            return true;
        end if;
    end loop;
    return p_part = '{}';
end $$;
comment on function loci_internal.words_keep_order(text[], text[]) is
    'Whether the words of one list stand in another in the same order, but for what opens it.';
