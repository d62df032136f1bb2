-- Is the caller an admin of a namespace, with this key? One primary key look-up. Called by what admins may do beyond writers; internal.
create or replace function loci.is_admin(p_namespace_id integer) returns boolean
language sql stable parallel safe
as $$
    select exists (select from loci_data.agents a
                   left join loci_data.grants g on g.namespace_id = p_namespace_id and g.agent_id = a.id and g.role = 'admin'
                        and (g.expires_at is null or g.expires_at > clock_timestamp()) and loci.key_reaches(p_namespace_id)
                   where a.id = loci.caller() and (a.kind = 'operator' or (g.role is not null and loci.scoped_role('admin') = 'admin')))
$$;
comment on function loci.is_admin(integer) is 'Whether the caller is an admin of a namespace. Internal.';
