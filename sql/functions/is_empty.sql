-- Does a namespace hold nothing that an export would have? One probe a table. Called by begin_restore; internal. No errors.
create or replace function loci.is_empty(p_namespace_id integer) returns boolean
language plpgsql stable set search_path = ''
as $$
declare
    v_source text;
    v_found  boolean;
begin
    for v_source in select k.source from loci.export_kinds() k loop
        execute format('select exists (select from loci_data.%I t where t.namespace_id = $1)', v_source) into v_found using p_namespace_id;
        if v_found then
            return false;
        end if;
    end loop;
    return true;
end $$;
comment on function loci.is_empty(integer) is 'Whether a namespace holds nothing. Internal.';
