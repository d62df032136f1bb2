-- The settings in force in a namespace: defaults, overlaid with what the namespace sets. One primary key look-up.
create or replace function loci.settings(p_namespace_id integer) returns jsonb
language sql stable parallel safe
as $$
    select loci.default_settings() || n.settings
           || jsonb_build_object('weights', loci.default_settings() -> 'weights' || coalesce(n.settings -> 'weights', '{}'))
    from loci_data.namespaces n where n.id = p_namespace_id
$$;
comment on function loci.settings(integer) is 'Settings in force in a namespace, as one JSON object.';
