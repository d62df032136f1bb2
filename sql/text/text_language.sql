-- The text search configuration of a name; one catalogue look-up. Errors: 22023 where this server has none of that
-- name.
create or replace function loci_internal.text_language(p_language text) returns regconfig
language plpgsql stable set search_path = 'pg_catalog'
as $$
begin
    if not exists (select from pg_ts_config where cfgname = p_language) then
        raise invalid_parameter_value
            using message = format('language %L is not a text search configuration of this server', p_language),
            column = 'language';
    end if;
    return p_language::regconfig;
end $$;
comment on function loci_internal.text_language(text) is
    'Text search configuration of a name. Errors: 22023.';
