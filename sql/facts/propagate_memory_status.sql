-- Attributes that still stand although the memory they rest on is over: written before triggers saw to it, or restored
-- from elsewhere. Supersedes them and says how many. Reads the namespace's attributes once. Security definer: writes
-- past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.propagate_memory_status(p_namespace text) returns integer
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
begin
    return cardinality(loci_internal.withdraw_attributes(v_namespace_id, array(
        select distinct m.id from loci_data.attributes a
        join loci_data.memories m on m.namespace_id = a.namespace_id and m.id = a.memory_id
        where a.namespace_id = v_namespace_id and a.status = 'active'
          and (m.status <> 'active' or m.superseded_at is not null)), clock_timestamp()));
end $$;
comment on function loci_api.propagate_memory_status(text) is
    'Supersede attributes whose memory is forgotten or superseded; how many. Errors: 42501, P0002.';
