-- Decisions about facts that were taken elsewhere (by a model, row L3), checked: one for each fact, an action that there is, and a
-- target where the action needs one: a memory of the namespace (target_id), or an earlier fact of the text (fact). Called by retain; internal. Errors: 22023 (names the decision), P0002.
create or replace function loci.read_decisions(p_namespace_id integer, p_decisions jsonb, p_facts integer) returns loci.fact_decision[]
language plpgsql stable set search_path = ''
as $$
declare
    v_decisions loci.fact_decision[] := '{}';
    v_stated    record;
    v_lineage   text;
begin
    for v_stated in
        select d.*, (u.place - 1)::integer as place from jsonb_array_elements(p_decisions) with ordinality u(value, place)
        cross join lateral jsonb_to_record(u.value) d(ordinal integer, action text, target_id uuid, fact integer, confidence double precision, reason text, signal text, links jsonb)
        order by d.ordinal, place
    loop
        if v_stated.ordinal is distinct from cardinality(v_decisions) then
            raise invalid_parameter_value using column = format('decisions.%s.ordinal', v_stated.place),
                message = format('decision %s is about fact %s; one for each of the %s facts is needed', v_stated.place, coalesce(v_stated.ordinal::text, 'none'), p_facts);
        elsif v_stated.action is null or v_stated.action not in ('create', 'update', 'link', 'nothing') then
            raise invalid_parameter_value using column = format('decisions.%s.action', v_stated.place),
                message = format('action %L of decision %s must be create, update, link or nothing', v_stated.action, v_stated.place);
        elsif num_nonnulls(v_stated.target_id, v_stated.fact) <> (v_stated.action <> 'create')::integer or v_stated.fact not between 0 and v_stated.ordinal - 1 then
            raise invalid_parameter_value using column = format('decisions.%s.target_id', v_stated.place),
                message = format('decision %s is to %s, which needs %s', v_stated.place, v_stated.action,
                                 case v_stated.action when 'create' then 'no target_id' else 'a target_id, or as fact the number of an earlier one' end);
        end if;
        select m.lineage into v_lineage from loci_data.memories m where m.namespace_id = p_namespace_id and m.id = v_stated.target_id;
        if v_stated.target_id is not null and v_lineage is null then
            raise no_data_found using message = format('memory %s does not exist', v_stated.target_id), column = format('decisions.%s.target_id', v_stated.place);
        end if;
        v_decisions := v_decisions || (v_stated.ordinal, v_stated.action, v_stated.target_id, v_stated.fact, v_lineage, coalesce(v_stated.confidence, 1), v_stated.reason,
            v_stated.signal, coalesce(v_stated.links, case when v_stated.action = 'link' then jsonb_build_array(
                jsonb_build_object('target_id', v_stated.target_id, 'fact', v_stated.fact, 'type', 'related_to', 'strength', 0.5)) else '[]' end))::loci.fact_decision;
        v_lineage := null;
    end loop;
    if cardinality(v_decisions) <> p_facts then
        raise invalid_parameter_value using column = 'decisions',
            message = format('there are %s decisions; one for each of the %s facts is needed', cardinality(v_decisions), p_facts);
    end if;
    return v_decisions;
end $$;
comment on function loci.read_decisions(integer, jsonb, integer) is 'Decisions about facts that were taken elsewhere, checked. Internal.';
