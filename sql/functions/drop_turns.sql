-- Delete the turns of sessions that nothing needs any more: consumed by the passes that read the log, and older than the last replayed_turns.
-- Index conversation_turns_consumed; rows are locked in the order of their numbers. How many went.
-- Called by add_turns and clear_conversation_log; internal. No errors.
create or replace function loci.drop_turns(p_namespace_id integer, p_session_ids text[]) returns bigint
language plpgsql volatile
as $$
declare
    v_replayed integer := loci.settings(p_namespace_id) ->> 'replayed_turns';
    v_ids      bigint[];
begin
    v_ids := array(
        select t.id
        from (select distinct unnest(p_session_ids) as session_id) s
        cross join lateral (select o.id from loci_data.conversation_turns o  -- the newest that is not replayed any more
                            where o.namespace_id = p_namespace_id and o.session_id = s.session_id
                            order by o.id desc offset v_replayed limit 1) beyond
        cross join lateral (select o.id from loci_data.conversation_turns o
                            where o.namespace_id = p_namespace_id and o.session_id = s.session_id and not o.logged and o.id <= beyond.id
                            offset 0) t);
    if cardinality(v_ids) = 0 then
        return 0;
    end if;
    v_ids := array(select o.id from loci_data.conversation_turns o
                   where o.namespace_id = p_namespace_id and o.id = any (v_ids) order by o.id for update);
    delete from loci_data.conversation_turns o where o.namespace_id = p_namespace_id and o.id = any (v_ids);
    return cardinality(v_ids);
end $$;
comment on function loci.drop_turns(integer, text[]) is 'Delete consumed turns beyond the replayed ones. Internal.';
