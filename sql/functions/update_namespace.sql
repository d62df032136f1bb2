-- Change description and settings of a namespace; settings are merged, null takes one back to its default.
-- A change of decay_rate or edge_threshold moves the moments at which edges fade.
create or replace function loci.update_namespace(p_namespace text, p_changes jsonb) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci.authorize(p_namespace, 'admin');
begin
    perform loci.check_settings(coalesce(p_changes -> 'settings', '{}'));
    update loci_data.namespaces n
    set description = case when p_changes ? 'description' then p_changes ->> 'description' else n.description end,
        settings = jsonb_strip_nulls(n.settings || coalesce(p_changes -> 'settings', '{}')), updated_at = clock_timestamp()
    where n.id = v_ns;
    if p_changes -> 'settings' ?| array['decay_rate', 'edge_threshold'] then
        update loci_data.edges e
        set fades_at = loci.fades_at(e.confidence, loci.decay_rate(v_ns, e.type), e.last_observed_at,
                                     (loci.settings(v_ns) ->> 'edge_threshold')::double precision)
        where e.namespace_id = v_ns;
    end if;
end $$;
comment on function loci.update_namespace(text, jsonb) is 'Merge changes {description, settings} into a namespace. Admin. Errors: 42501, P0002, 22023.';
