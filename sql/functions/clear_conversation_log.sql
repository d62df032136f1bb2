-- A pass has learned from these turns (row W3): they leave the log, exactly these, whatever was said meanwhile. The last replayed_turns of a
-- session stay for replay; older ones are deleted. Ids that are not in the log are left alone, so it may be repeated. Security definer: writes past the policies; checks the caller itself. Called by the passes that learn from
-- conversations. Errors: 42501, P0002.
create or replace function loci.clear_conversation_log(p_namespace text, p_ids bigint[]) returns table (cleared bigint, deleted bigint)
language plpgsql volatile security definer set search_path = ''
as $$
begin
    return query select c.cleared, c.deleted from loci.clear_turns(loci.authorize(p_namespace, 'writer'), p_ids) c;
end $$;
comment on function loci.clear_conversation_log(text, bigint[]) is 'Take turns out of the log; how many, and how many were deleted, being older than what is replayed. Errors: 42501, P0002.';
