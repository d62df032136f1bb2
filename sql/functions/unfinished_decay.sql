-- Changes of decay of a namespace that fade_batch has still to finish (row G10): their edge types, null for all types.
-- Security definer: reads past the policies; checks the caller itself. Called after undoing an operation. Errors: 42501, P0002.
create or replace function loci.unfinished_decay(p_namespace text) returns table (type text)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns integer := loci.authorize(p_namespace, 'writer');
begin
    return query select nullif(c.type, '') from loci_data.decay_changes c where c.namespace_id = v_ns and c.finished_at is null order by c.type;
end $$;
comment on function loci.unfinished_decay(text) is 'Edge types (null: all) whose edges fade_batch has to bring in step with a change of decay. Errors: 42501, P0002.';
