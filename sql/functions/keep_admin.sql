-- Has a namespace still an admin, now that p_old was changed or taken away? Who is one for good gives way only to another for good, one for a
-- while to any. A namespace without admins stays one (the operator's keys may all be writers), and the operator may do anything: it can
-- repair what it broke. The caller holds lock_grants. Range of the primary key of grants. Called by set_grant and delete_grant; internal.
-- Errors: 23505.
create or replace function loci.keep_admin(p_namespace_id integer, p_old loci_data.grants) returns void
language plpgsql stable set search_path = ''
as $$
begin
    if p_old.role = 'admin' and (p_old.expires_at is null or p_old.expires_at > clock_timestamp())
       and not loci.is_operator() and not exists (
           select from loci_data.grants g
           where g.namespace_id = p_namespace_id and g.role = 'admin'
             and (g.expires_at is null or p_old.expires_at is not null and g.expires_at > clock_timestamp())) then
        raise unique_violation using message = 'this is the last admin of the namespace', column = 'agent_id',
            hint = 'Make another agent admin for good first, or let the operator do it.';
    end if;
end $$;
comment on function loci.keep_admin(integer, loci_data.grants) is 'Refuse to take the last admin of a namespace away. Internal. Errors: 23505.';
