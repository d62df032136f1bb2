-- What has to be decided about the facts of a text, for who decides otherwise than by rules (a model)? For each fact
-- what the rules would do (decision, in the form that retain takes), and what is known beside it (known: see
-- fact_candidates; number: its place, from 1; about: as stated). is_protected: a memory so important, or so often
-- observed, that only a contradiction that rules see too may make a version of it. is_settled: the fact is there
-- already, in words that say the same, and nothing is left to decide. Items are those of loci_api.remember, with their
-- vectors. Cost: fact_candidates, and half a millisecond. Security definer: reads past the policies; checks first.
-- Errors: 42501, P0002, 22023.
create or replace function loci_api.facts_to_decide(p_namespace text, p_items jsonb)
returns table (ordinal integer, is_settled boolean, decision jsonb, known jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'writer');
    v_settings jsonb := loci_internal.settings(v_ns);
    v_facts    integer := jsonb_array_length(p_items);
    v_known    loci_api.fact_candidate[];
begin
    if v_facts > (v_settings ->> 'retain_facts')::integer then
        raise invalid_parameter_value using
            column = case when p_items -> 0 ? 'spoken' then 'messages' else 'content' end,
            message = format('the text has %s facts; at most %s are taken in at once (setting retain_facts)', v_facts,
                             v_settings ->> 'retain_facts');
    end if;
    v_known := array(select k from loci.fact_candidates(p_namespace, p_items) k);
    return query
    with beside as materialized (
        select k.ordinal as about,
               jsonb_agg(to_jsonb(k) - 'ordinal' || jsonb_build_object('number', k.number, 'about', m.about,
                                                                       'is_protected', coalesce(m.is_protected, false))
                                             order by k.number) as known
        from (select u.*, row_number() over (partition by u.ordinal order by u.exact desc,
                                             u.similarity desc nulls last, u.overlap desc, u.fact,
                                             u.memory_id) as number
              from unnest(v_known) u) k
        left join lateral (
            select o.importance >= (v_settings ->> 'protected_importance')::double precision
                   or o.observations >= (v_settings ->> 'protected_observations')::integer as is_protected, o.about
            from loci_data.memories o where o.namespace_id = v_ns and o.id = k.memory_id limit 1) m on true
        group by k.ordinal
    )
    select d.ordinal, d.action = 'nothing', jsonb_strip_nulls(to_jsonb(d)), coalesce(b.known, '[]')
    from unnest(loci_internal.decide_facts(v_ns, v_facts, v_known, p_items)) d
    left join beside b on b.about = d.ordinal
    order by d.ordinal;
end $$;
comment on function loci_api.facts_to_decide(text, jsonb) is
    'For each fact of a text, what the rules would do and what is known beside it: what a decision elsewhere needs. '
    'Errors: 42501, P0002, 22023.';
