-- What becomes of each fact of a text, by rules, in order: a later fact sees what an earlier one made, and no longer what it ended, so a
-- text may correct itself. p_known: what fact_candidates found. Pure but for the settings. Called by retain and facts_to_decide; internal.
create or replace function loci.decide_facts(p_namespace_id integer, p_facts integer, p_known loci.fact_candidate[]) returns loci.fact_decision[]
language plpgsql stable set search_path = ''
as $$
declare
    v_settings  jsonb := loci.settings(p_namespace_id);
    v_decisions loci.fact_decision[] := '{}';
    v_decision  loci.fact_decision;
    v_over      text[] := '{}';    -- lineages of which an earlier fact made a version
    v_gone      integer[] := '{}'; -- earlier facts that are no memory of their own, or no longer
begin
    for v_ordinal in 0 .. p_facts - 1 loop
        v_decision := loci.decide_fact(v_ordinal, array(
            select k from unnest(p_known) with ordinality u(ordinal, fact, memory_id, lineage, content, valid_from, later, exact, same, alike, similarity, overlap,
                                                            signal, confidence, evidence, sure, nth)
            cross join lateral (select (u.ordinal, u.fact, u.memory_id, u.lineage, u.content, u.valid_from, u.later, u.exact, u.same, u.alike, u.similarity,
                                        u.overlap, u.signal, u.confidence, u.evidence, u.sure)::loci.fact_candidate as k) c
            where u.ordinal = v_ordinal and (u.lineage is null or u.lineage <> all (v_over)) and (u.fact is null or u.fact <> all (v_gone))
            order by u.nth), v_settings);
        if v_decision.action = 'nothing' then
            v_gone := v_gone || v_ordinal;
        elsif v_decision.action = 'update' and v_decision.signal is not null then
            if v_decision.fact is null then
                v_over := v_over || v_decision.lineage;
            else
                v_gone := v_gone || v_decision.fact;
            end if;
        end if;
        v_decisions := v_decisions || v_decision;
    end loop;
    return v_decisions;
end $$;
comment on function loci.decide_facts(integer, integer, loci.fact_candidate[]) is 'What becomes of the facts of a text, by rules, in order. Internal.';
