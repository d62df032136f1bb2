-- Is what one statement does done to it in the other (I teach, I am taught; Ann manages Bob, Ann is managed by Bob)? A
-- word that both have is a participle after be or get in one of them, and is not in the other, where it is spoken
-- otherwise, or before by. Pure; without be or get 1 µs.
create or replace function loci_internal.voices_differ(p_older loci_internal.statement,
                                                       p_newer loci_internal.statement) returns boolean
language plpgsql immutable parallel safe
as $$
declare
    v_older text[] := loci_internal.passive_words(p_older);
    v_newer text[] := loci_internal.passive_words(p_newer);
    v_stem  text;
begin
    foreach v_stem in array v_older || v_newer loop
        if (v_stem = any (v_older)) <> (v_stem = any (v_newer))
           and v_stem = any (p_older.words) and v_stem = any (p_newer.words)
           and (p_older.spoken ->> v_stem is distinct from p_newer.spoken ->> v_stem
                or 'by' in (p_older.words[array_position(p_older.words, v_stem) + 1],
                            p_newer.words[array_position(p_newer.words, v_stem) + 1])) then
            return true;
        end if;
    end loop;
    return false;
end $$;
comment on function loci_internal.voices_differ(loci_internal.statement, loci_internal.statement) is
    'Whether one statement tells as done what the other tells as suffered.';

-- Which words of a statement are participles after be or get (are taught, is currently managed), or stand so before by
-- (is run by)? Stems. Pure.
create or replace function loci_internal.passive_words(p_said loci_internal.statement) returns text[]
language plpgsql immutable parallel safe
as $$
declare
    v_be    constant text[] := '{is,are,am,be,was,were,been,get,got}';
    v_words text[] := p_said.words;
    v_word  text;
    v_found text[] := '{}';
begin
    if v_words && v_be then
        for v_place in 2 .. cardinality(v_words) loop
            v_word := coalesce(p_said.spoken ->> v_words[v_place], v_words[v_place]);
            if v_words[v_place - 2:v_place - 1] && v_be and v_words[v_place] <> all (v_be)
               and (v_words[v_place + 1] = 'by'
                    or v_word <> v_words[v_place] and v_word !~ '(ing|s|ly|y|e|er)$') then
                v_found := v_found || v_words[v_place];
            end if;
        end loop;
    end if;
    return v_found;
end $$;
comment on function loci_internal.passive_words(loci_internal.statement) is
    'Participles after be or get in a statement.';
