-- The number of the advisory lock of a version of a namespace's decay rates. Pure. Called by hold_rates and await_writers; internal.
create or replace function loci.rates_lock(p_namespace_id integer, p_version integer) returns bigint
language sql immutable parallel safe
return hashtextextended('loci.rates ' || p_version, p_namespace_id);
comment on function loci.rates_lock(integer, integer) is 'Advisory lock of a version of decay rates. Internal.';
