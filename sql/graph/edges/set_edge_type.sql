-- Change an edge type, which need not be used yet: {decay_rate?, single_valued?, description?}. decay_rate null
-- returns to the namespace's. A changed rate is in force for readers at once; decaying says that
-- recalculate_decay_batch has to bring edges.fades_at in step with it, in transactions of its own. Security definer:
-- writes past the policies; checks the caller itself. Errors: 42501, P0002, 22023.
create or replace function loci_api.set_edge_type(p_namespace text, p_type text, p_changes jsonb)
returns table (type text, decay_rate double precision, single_valued boolean, description text, updated_at timestamptz,
               decaying boolean)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_type         text := loci.canonical_type(p_type);
    v_at           timestamptz := clock_timestamp();
    v_was          double precision;
    v_wrong        text;
begin
    if coalesce(length(v_type) not between 1 and 128, true) then
        raise invalid_parameter_value using message = format('type must have 1 to 128 characters, not %L', p_type),
            column = 'type';
    end if;
    select c.key into v_wrong from jsonb_each(p_changes) c
    where case c.key
        when 'decay_rate' then case jsonb_typeof(c.value) when 'number' then c.value::numeric < 0
        or c.value::numeric > 1e9 when 'null' then false else true end
        when 'single_valued' then jsonb_typeof(c.value) <> 'boolean'
        when 'description' then jsonb_typeof(c.value) not in ('string', 'null')
        else true end
    order by c.key limit 1;
    if found then
        raise invalid_parameter_value
            using message = format('%s: %s is not valid for an edge type', v_wrong, p_changes -> v_wrong),
            column = v_wrong;
    end if;
    perform from loci_data.namespaces n where n.id = v_namespace_id for no key update;  -- changes of rates take turns
    v_was := loci_internal.decay_rate(v_namespace_id, v_type);
    insert into loci_data.edge_types as t (namespace_id, type, decay_rate, single_valued, description, updated_at)
    values (v_namespace_id, v_type, (p_changes ->> 'decay_rate')::double precision,
            coalesce((p_changes ->> 'single_valued')::boolean, false), p_changes ->> 'description', v_at)
    on conflict (namespace_id, type) do update
    set decay_rate = case when p_changes ? 'decay_rate' then excluded.decay_rate else t.decay_rate end,
        single_valued = case when p_changes ? 'single_valued' then excluded.single_valued else t.single_valued end,
        description = case when p_changes ? 'description' then excluded.description else t.description end,
        updated_at = v_at;
    if v_was <> loci_internal.decay_rate(v_namespace_id, v_type) then
        perform loci_internal.enqueue_decay_change(v_namespace_id, v_type);
    end if;
    return query select g.*, exists (select from loci_data.decay_changes c where c.namespace_id = v_namespace_id
                                     and c.type = v_type and c.finished_at is null)
                 from loci.get_edge_type(p_namespace, v_type) g;
end $$;
comment on function loci_api.set_edge_type(text, text, jsonb) is
    'Change an edge type: {decay_rate?, single_valued?, description?}; returns it, and whether '
    'recalculate_decay_batch has edges to bring in step. Errors: 42501, P0002, 22023.';
