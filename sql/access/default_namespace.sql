-- The namespace that a caller means who names none: that of the key, fixed when it was made, whatever was granted
-- since; of the operator default. Null for others, who have to name one: an analyst, and a key whose namespace was
-- deleted. Reads loci.namespace, which loci_api.begin_request sets beside loci.key.
create or replace function loci_internal.default_namespace() returns text
language sql stable parallel safe set search_path = ''
as $$
    select case when coalesce(current_setting('loci.key', true), '') <> ''
                then nullif(current_setting('loci.namespace', true), '')
                when loci_internal.is_operator() then 'default' end
$$;
comment on function loci_internal.default_namespace() is
    'Name of the namespace of a caller who names none; null: there is none.';
