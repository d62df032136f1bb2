-- Changes of the grants of a namespace take turns, so that two admins who take each other away leave one. Held to the end of the
-- transaction. Called by set_grant and delete_grant; internal.
create or replace function loci.lock_grants(p_namespace_id integer) returns void
language sql volatile set search_path = ''
as $$
    select pg_advisory_xact_lock(hashtextextended('loci.grants', p_namespace_id))
$$;
comment on function loci.lock_grants(integer) is 'Wait for other changes of grants in a namespace, to the end of the transaction. Internal.';
