-- Make memory_closure equal to the recursion over placements: what is missing or wrong is written, what should not be
-- there is deleted, in one transaction, with the hierarchy locked. Admin. Returns how many rows of each.
create or replace function loci_api.repair_hierarchy(p_namespace text) returns table (removed bigint, added bigint)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'admin');
begin
    perform loci_internal.lock_hierarchy(v_ns, true);
    with truth as materialized (
        select * from loci_internal.recompute_closure(v_ns)
    ), wrong as (
        delete from loci_data.memory_closure c
        where c.namespace_id = v_ns and not exists (
              select from truth t where t.ancestor_id = c.ancestor_id and t.descendant_id = c.descendant_id
                  and t.depth = c.depth
                 and (t.valid_from, t.recorded_at) = (c.valid_from, c.recorded_at)
                 and t.valid_to is not distinct from c.valid_to
                 and t.superseded_at is not distinct from c.superseded_at)
        returning 1
    )
    select count(*) into removed from wrong;
    with written as (
        insert into loci_data.memory_closure (namespace_id, ancestor_id, descendant_id, depth, valid_from, valid_to,
                                              recorded_at, superseded_at)
        select v_ns, t.* from loci_internal.recompute_closure(v_ns) t
        on conflict do nothing
        returning 1
    )
    select count(*) into added from written;
    return next;
end $$;
comment on function loci_api.repair_hierarchy(text) is
    'Rebuild what differs between the closure and the recursion over placements. Admin. Errors: 42501, P0002.';
