-- How fast do edges of this type fade here, per day? The type's own rate, else the namespace's. Two primary keys. Internal.
create or replace function loci.decay_rate(p_namespace_id integer, p_type text) returns double precision
language sql stable parallel safe
as $$
    select coalesce(
        (select t.decay_rate from loci_data.edge_types t where t.namespace_id = p_namespace_id and t.type = p_type),
        (loci.settings(p_namespace_id) ->> 'decay_rate')::double precision)
$$;
comment on function loci.decay_rate(integer, text) is 'Decay rate per day of an edge type in a namespace. Internal.';
