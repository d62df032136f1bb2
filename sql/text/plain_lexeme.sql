-- A word of a text without its accents: "crêpes" is the word that "crepes" is, "Muñoz" that of "Munoz". The stemmer of
-- the language comes first, since it may read them (French, Spanish); that of English, which does not, is asked once
-- more without them. Latin and Greek letters; others stay, such as й. Where accents make letters of
-- their own, they stay as well: so in seven configurations. No accents: as it is. Pure, as far as a configuration is.
create or replace function loci_internal.plain_lexeme(p_language regconfig, p_lexeme text) returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_plain text := translate(normalize(regexp_replace(normalize(p_lexeme, nfd), '([a-zα-ω])[\u0300-\u036f]+', '\1',
                                                       'g'), nfc), 'łøđħı', 'lodhi');
    v_name  text;
begin
    if v_plain = p_lexeme then
        return p_lexeme;
    end if;
    select c.cfgname into v_name from pg_catalog.pg_ts_config c where c.oid = p_language;
    if v_name = any ('{danish,estonian,finnish,hungarian,norwegian,swedish,turkish}') then
        return p_lexeme;
    elsif v_name = 'english' and v_plain ~ '^\w+$' then
        return coalesce((select u.lexeme from unnest(to_tsvector(p_language, v_plain)) u limit 1), v_plain);
    end if;
    return v_plain;
end $$;
comment on function loci_internal.plain_lexeme(regconfig, text) is
    'A word without accents, as the lexical index has it.';
