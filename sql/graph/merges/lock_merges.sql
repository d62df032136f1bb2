-- Merges, splits and their undoing take turns in a namespace: each of them moves edges whose other ends another could
-- be moving. Held to the end of the transaction.
create or replace function loci_internal.lock_merges(p_namespace_id integer) returns void
language sql volatile set search_path = ''
as $$
    select loci_internal.take_turn(p_namespace_id, 'merges')
$$;
comment on function loci_internal.lock_merges(integer) is
    'Wait for other merges of a namespace, to the end of the transaction.';

-- Lock entities against every writer, in order of canonical_name like everywhere, and return the moment from which they
-- may change: now, and not before anything else that is known of them. Errors: 40001 if one of them is gone or merged
-- by then.
create or replace function loci_internal.lock_entities(p_namespace_id integer, p_ids uuid[]) returns timestamptz
language plpgsql volatile set search_path = ''
as $$
declare
    v_found integer;
begin
    perform from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = any(p_ids)
        order by e.canonical_name, e.id for update;
    get diagnostics v_found = row_count;
    if v_found < cardinality(p_ids) then
        raise serialization_failure using message = 'an entity was deleted meanwhile', hint = 'Try again.';
    end if;
    return greatest(clock_timestamp(), (select max(e.updated_at) from loci_data.entities e
                                        where e.namespace_id = p_namespace_id and e.id = any(p_ids))
                                            + interval '1 microsecond');
end $$;
comment on function loci_internal.lock_entities(integer, uuid[]) is
    'Lock entities; the moment from which they may change. Errors: 40001.';
