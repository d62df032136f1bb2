-- Forget memories, all that are there and not forgotten yet; how many. Those that others lock are waited for, in order
-- of their ids. A probe of the primary key a memory. Security definer: writes past the policies; checks the caller
-- itself. Errors: 42501, P0002 (namespace).
create or replace function loci_api.forget_memories(p_namespace text, p_ids uuid[]) returns bigint
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns   integer := loci_internal.authorize(p_namespace, 'writer');
    v_rows loci_data.memories[];
begin
    v_rows := array(select m from loci_data.memories m
                    where m.namespace_id = v_ns and m.id = any (p_ids) and m.status = 'active'
                    order by m.id for no key update);
    for v_place in 1 .. coalesce(cardinality(v_rows), 0) loop
        v_rows[v_place].status := 'forgotten';
        v_rows[v_place].updated_at := clock_timestamp();
    end loop;
    return (select count(*) from loci_internal.change_memories(v_ns, v_rows));
end $$;
comment on function loci_api.forget_memories(text, uuid[]) is
    'Forget memories that are not forgotten yet; how many. Errors: 42501, P0002.';
