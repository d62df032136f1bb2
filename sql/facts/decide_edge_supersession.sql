-- Let two edges of a type with one target at a time hold beside each other (undone), although one had ended the other,
-- or not any more (applied). Their spells follow. Errors: 22023 (another change; an edge is no longer current).
create or replace function loci_internal.decide_edge_supersession(p_namespace_id integer, p_id uuid, p_status text)
returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_made loci_data.supersessions;
    v_edge uuid;
    v_at   timestamptz;
begin
    perform from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = (
        select i.source_id from loci_data.supersessions s join loci_data.edges i on i.namespace_id = p_namespace_id
            and i.id = loci_internal.current_edge_id(p_namespace_id, s.older_edge_id)
        where s.namespace_id = p_namespace_id and s.id = p_id) for no key update;
    select s.* into v_made from loci_data.supersessions s where s.namespace_id = p_namespace_id and s.id = p_id
        for update;
    if v_made.status = p_status then
        return;
    elsif (v_made.status, p_status) not in (('applied', 'undone'), ('undone', 'applied')) then
        raise invalid_parameter_value
            using message = format('this supersession of an edge is %s and cannot become %s', v_made.status, p_status),
            column = 'id', hint = 'What is applied can be undone, and what was undone can be accepted again.';
    end if;
    v_edge := loci_internal.current_edge_id(p_namespace_id, v_made.older_edge_id);
    if v_edge is null or loci_internal.current_edge_id(p_namespace_id, v_made.newer_edge_id) is null then
        raise invalid_parameter_value using column = 'id',
            message = format('edge %s is no longer current', case when v_edge is null then v_made.older_edge_id
                             else v_made.newer_edge_id end);
    end if;
    v_at := clock_timestamp();
    update loci_data.supersessions s
    set status = p_status, decided_at = v_at, decided_by = loci.current_agent(), undone_at = case p_status
        when 'undone' then v_at end
    where s.namespace_id = p_namespace_id and s.id = p_id;
    perform loci_internal.refold_edges(p_namespace_id, array[v_edge], v_at);
end $$;
comment on function loci_internal.decide_edge_supersession(integer, uuid, text) is
    'Let two edges hold beside each other, or not any more. Errors: 22023.';
