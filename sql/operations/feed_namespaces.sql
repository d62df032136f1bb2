-- Whose changes does a reader ask for? Ids of the namespaces named, each authorized; null means the caller's default
-- one; {*} all that the caller may read. Cost: 20 µs a name. Internal: checks the caller, but names no one
-- else's. Errors: 42501, P0002 (the first that the caller may not read), 22023 (namespaces).
create or replace function loci_internal.feed_namespaces(p_namespaces text[]) returns integer[]
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ids  integer[] := '{}';
    v_id   integer;
    v_name text;
begin
    if p_namespaces = '{*}' then
        return loci.readable_namespaces();
    end if;
    if cardinality(p_namespaces) not between 1 and 1000 then
        raise invalid_parameter_value using column = 'namespace',
            message = format('namespaces must be 1 to 1000 names, or * alone, not %s', cardinality(p_namespaces));
    end if;
    perform loci_internal.refuse_several_cells(p_namespaces, 'namespace');
    foreach v_name in array coalesce(p_namespaces, array[null::text]) loop
        v_id := loci_internal.authorize(v_name, 'reader');
        continue when v_id = any (v_ids);
        v_ids := v_ids || v_id;
    end loop;
    return v_ids;
end $$;
comment on function loci_internal.feed_namespaces(text[]) is
    'Ids of the namespaces that a reader of changes asks for, authorized.';
