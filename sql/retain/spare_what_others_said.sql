-- An assistant's words (an item whose source is assistant) end nothing that others told: where a decision would make a
-- version of that, the fact becomes a memory of its own, linked (contradicts). Any other decision stays as it is. One
-- probe of the primary key, for such a decision alone.
create or replace function loci_internal.spare_what_others_said(p_namespace_id integer, p_items jsonb,
                                                                p_decision loci_api.fact_decision)
returns loci_api.fact_decision
language plpgsql stable set search_path = ''
as $$
declare
    v_said_by text := p_items -> p_decision.fact ->> 'source';  -- of what would end
begin
    if p_decision.action <> 'update' or p_decision.signal is null
        or p_items -> p_decision.ordinal ->> 'source' is distinct from 'assistant' then
        return p_decision;
    end if;
    if p_decision.target_id is not null then
        select m.source into v_said_by from loci_data.memories m
        where m.namespace_id = p_namespace_id and m.id = p_decision.target_id;
    end if;
    if v_said_by = 'assistant' then
        return p_decision;
    end if;
    return (p_decision.ordinal, 'link', p_decision.target_id, p_decision.fact, null, p_decision.confidence,
            'an assistant said so, which ends nothing that others told', null,
            jsonb_build_array(jsonb_build_object('target_id', p_decision.target_id, 'fact', p_decision.fact,
                                                 'type', 'contradicts', 'strength', p_decision.confidence))
            || coalesce(p_decision.links, '[]'), '[]')::loci_api.fact_decision;
end $$;
comment on function loci_internal.spare_what_others_said(integer, jsonb, loci_api.fact_decision) is
    'A decision about a fact; what an assistant said ends nothing that others told.';
