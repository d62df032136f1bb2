-- A new namespace; whoever makes it is its admin. The operator's, because namespaces are worlds, not rows.
create or replace function loci_api.create_namespace(p_name text, p_description text default null,
                                                     p_language text default 'english', p_settings jsonb default '{}')
returns integer
language plpgsql volatile security definer set search_path = 'pg_catalog'
as $$
declare
    v_id integer;
begin
    perform loci_internal.require_operator('create a namespace');
    perform loci_internal.check_settings(p_settings);
    insert into loci_data.namespaces (name, description, language, settings)
    values (p_name, p_description, loci_internal.text_language(p_language), p_settings) returning id into v_id;
    return v_id;
end $$;
comment on function loci_api.create_namespace(text, text, text, jsonb) is
    'Create a namespace. Operator only. Errors: 42501, 23505 (name taken), 23514 (name), 22023 (language, settings).';
