-- Change description and settings of a namespace; settings are merged, null takes one back to its default. A change of
-- decay_rate or edge_threshold is in force for readers at once; recalculate_decay_batch brings edges.fades_at in step
-- with it.
create or replace function loci_api.update_namespace(p_namespace text, p_changes jsonb) returns boolean
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'admin');
    v_was jsonb;
begin
    perform from loci_data.namespaces n where n.id = v_ns for no key update;  -- changes of rates take turns
    v_was := loci_internal.settings(v_ns);
    perform loci_internal.check_settings(coalesce(p_changes -> 'settings', '{}'));
    update loci_data.namespaces n
    set description = case when p_changes ? 'description' then p_changes ->> 'description' else n.description end,
        settings = jsonb_strip_nulls(n.settings || coalesce(p_changes -> 'settings', '{}')),
        updated_at = clock_timestamp()
    where n.id = v_ns;
    if (v_was ->> 'decay_rate', v_was ->> 'edge_threshold') <> (loci_internal.settings(v_ns) ->> 'decay_rate',
                                                                loci_internal.settings(v_ns) ->> 'edge_threshold') then
        perform loci_internal.enqueue_decay_change(v_ns, null);
    end if;
    return exists (select from loci_data.decay_changes c where c.namespace_id = v_ns and c.type = ''
                   and c.finished_at is null);
end $$;
comment on function loci_api.update_namespace(text, jsonb) is
    'Merge changes {description, settings} into a namespace; whether recalculate_decay_batch has edges to bring in '
    'step. Admin. Errors: 42501, P0002, 22023.';
