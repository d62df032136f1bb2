-- Which of the links or places of a subject is a change about? The id of the other end; empty for kinds that the subject alone names.
-- Inlined. Called by erase_changes; internal.
create or replace function loci.change_end(p_kind text, p_said jsonb) returns text
language sql immutable parallel safe
return case p_kind when 'link' then p_said ->> 'target_id' when 'placement' then p_said ->> 'parent_id' else '' end;
comment on function loci.change_end(text, jsonb) is 'The other end of a link or a place that a change is about. Internal.';
