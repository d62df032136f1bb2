-- End of restoring a namespace: what could not be done line by line. Attributes may name a successor that stands after
-- them; restored memories that no line of name_queue spoke of were read for names before. Facts are
-- brought in step with their memories and decisions. Reads the attributes of the
-- namespace. Admin. Security definer, like the rest of restoring. Errors: 42501, P0002, 23503.
create or replace function loci_api.finish_restore(p_namespace text) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'admin');
    v_stray record;
begin
    select a.id, a.superseded_by into v_stray from loci_data.attributes a
    where a.namespace_id = v_ns and a.superseded_by is not null
      and not exists (select from loci_data.attributes b where b.namespace_id = v_ns and b.id = a.superseded_by)
    limit 1;
    if found then
        raise foreign_key_violation
            using message = format('attribute %s: superseded_by: there is no attribute %s', v_stray.id,
                                   v_stray.superseded_by),
            column = 'superseded_by';
    end if;
    select e.id, e.merged_into into v_stray from loci_data.entities e
    where e.namespace_id = v_ns and e.merged_into is not null
      and not exists (select from loci_data.entities k where k.namespace_id = v_ns and k.id = e.merged_into) limit 1;
    if found then
        raise foreign_key_violation
            using message = format('entity %s: merged_into: there is no entity %s', v_stray.id, v_stray.merged_into),
            column = 'merged_into';
    end if;
    insert into loci_data.supersessions (namespace_id, id, older_id, newer_id, signal, confidence, origin, status,
                                         created_at, decided_at)
    select v_ns, loci_api.uuid7(), a.id, a.superseded_by, 'replaced', 1, 'manual', 'applied', a.updated_at, a.updated_at
    from loci_data.attributes a
    where a.namespace_id = v_ns and a.superseded_by is not null
    on conflict on constraint supersessions_pair_key do nothing;  -- of version 0.1.0, which noted none
    perform loci_api.propagate_memory_status(p_namespace);
    delete from loci_data.name_queue q where q.namespace_id = v_ns and q.enqueued_at = transaction_timestamp();
    set constraints loci_data.attributes_superseded_by_fkey, loci_data.entities_merged_into_fkey immediate;
    perform set_config('loci.restoring', '', true);
end $$;
comment on function loci_api.finish_restore(text) is
    'End restoring: check what lines say of later ones, and leave to the worker what is still to be read. Admin. '
    'Errors: 42501, P0002, 23503.';
