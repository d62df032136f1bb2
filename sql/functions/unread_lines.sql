-- Lines about names still to be found in memories (kinds name_candidate and name_queue) matter only for memories that this transaction has
-- restored: the others have been read here since, or wait here already. A memory restored by this transaction waits in name_queue since
-- its start, by the trigger of memories; lines of name_queue take that place, and finish_restore removes the rest.
-- One index probe a line. Called by restore_rows; internal. No errors.
create or replace function loci.unread_lines(p_namespace_id integer, p_kind text, p_lines jsonb) returns jsonb
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_lines jsonb;
begin
    select coalesce(jsonb_agg(l.line order by l.place), '[]') into v_lines
    from jsonb_array_elements(p_lines) with ordinality l(line, place)
    where (select q.enqueued_at from loci_data.name_queue q
           where q.namespace_id = p_namespace_id and q.memory_id = (l.line ->> 'memory_id')::uuid) = transaction_timestamp();
    if p_kind = 'name_queue' then
        delete from loci_data.name_queue q
        where q.namespace_id = p_namespace_id and q.memory_id = any (array(select (l ->> 'memory_id')::uuid from jsonb_array_elements(v_lines) l));
    end if;
    return v_lines;
end $$;
comment on function loci.unread_lines(integer, text, jsonb) is 'Lines of an export about names still to be found that matter for memories restored just now. Internal.';
