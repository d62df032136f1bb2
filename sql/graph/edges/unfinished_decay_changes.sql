-- Changes of decay of a namespace that recalculate_decay_batch has still to finish: their edge types, null for all
-- types. Security
-- definer: reads past the policies; checks the caller itself. Called after undoing an operation. Errors: 42501, P0002.
create or replace function loci_api.unfinished_decay_changes(p_namespace text) returns table (type text)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'writer');
begin
    return query select nullif(c.type, '') from loci_data.decay_changes c where c.namespace_id = v_ns
        and c.finished_at is null order by c.type;
end $$;
comment on function loci_api.unfinished_decay_changes(text) is
    'Edge types (null: all) whose edges recalculate_decay_batch has to bring in step with a change of decay. Errors: '
    '42501, P0002.';
