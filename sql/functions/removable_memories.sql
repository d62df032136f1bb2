-- How many memories may one pass remove now (row L5)? dream_removed_share of those that are current. Reads the namespace's memories once. Called by the
-- pass, which tells the model. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci.removable_memories(p_namespace text) returns bigint
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns integer := loci.authorize(p_namespace, 'reader');
begin
    return loci.removal_limit(v_ns, (loci.settings(v_ns) ->> 'dream_removed_share')::double precision, (
        select count(*) from loci_data.memories m
        where m.namespace_id = v_ns and m.status = 'active' and m.valid_from <= clock_timestamp() and (m.valid_to is null or m.valid_to > clock_timestamp())));
end $$;
comment on function loci.removable_memories(text) is 'How many memories one pass may remove now. Errors: 42501, P0002.';
