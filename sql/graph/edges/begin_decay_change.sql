-- Start to bring edges.fades_at in step with the rates of decay and the threshold in force, for one type or for all; a
-- type need not be used yet, as in set_edge_type.
-- From the commit on, readers of the namespace reckon for themselves until the last batch (recalculate_decay_batch) is
-- done: they
-- are right at any moment, and nothing has to be finished for that. Begun again before it ended, it starts anew.
-- Reading never needs this for time alone: decay is a function of time. See enqueue_decay_change. Security definer:
-- writes past
-- the policies; checks the caller itself. Errors: 42501, P0002, 22023.
create or replace function loci_api.begin_decay_change(p_namespace text, p_type text default null) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
begin
    if length(loci.canonical_type(p_type)) not between 1 and 128 then
        raise invalid_parameter_value using message = format('type must have 1 to 128 characters, not %L', p_type),
            column = 'type';
    end if;
    perform loci_internal.enqueue_decay_change(v_namespace_id, loci.canonical_type(p_type), true);
end $$;
comment on function loci_api.begin_decay_change(text, text) is
    'Start to recalculate when edges of a type (null: of all) fade; call recalculate_decay_batch until it says done. '
    'Errors: 42501, P0002, 22023.';
