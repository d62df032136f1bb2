-- Does a stem that two facts share stand for two names (Andrea, Andreas)? One of both writes the word with a capital,
-- and they spell it otherwise; not words that the lexicon knows (Friday, Fridays). Pure.
create or replace function loci_internal.names_differ(p_older loci_api.fact_reading,
                                                      p_newer loci_api.fact_reading) returns boolean
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_older loci_internal.statement := p_older.said;
    v_newer loci_internal.statement := p_newer.said;
    v_stem  text;
begin
    foreach v_stem in array p_older.names || p_newer.names loop
        if v_older.spoken ->> v_stem is distinct from v_newer.spoken ->> v_stem
           and v_stem = any (v_older.words) and v_stem = any (v_newer.words)
           and not loci_internal.statement_lexicon() ? v_stem then
            return true;
        end if;
    end loop;
    return false;
end $$;
comment on function loci_internal.names_differ(loci_api.fact_reading, loci_api.fact_reading) is
    'Whether two facts have names that differ and share a stem.';
