-- Take in the facts of a text (row L3): each becomes a memory, a new version of one, a memory linked to others, or reinforces what is there.
-- Items are those of loci.remember, in the order of the text. Decide, hold, apply: decisions are data, taken by rules (decide_facts) or given
-- (p_decisions, see read_decisions); what they rest on is locked and looked at again, and if it changed, they are taken again. Retains of one
-- namespace take turns, so that two agents who say the same at once make one memory; other writes do not wait for them.
-- One transaction, all or nothing. p_dry_run decides and writes nothing; what would be made has no ids.
-- Called by REST and the command line. Errors: 42501, P0002, 22023, 40001 (given decisions that no longer stand).
create or replace function loci.retain(p_namespace text, p_items jsonb, p_decisions jsonb default null, p_dry_run boolean default false)
returns table (ordinal integer, action text, memory_id uuid, lineage text, superseded uuid, target_id uuid, links jsonb,
               confidence double precision, reason text, signal text)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns        integer := loci.authorize(p_namespace, 'writer');
    v_facts     integer := jsonb_array_length(p_items);
    v_at        timestamptz;
    v_decisions loci.fact_decision[];
begin
    if v_facts > (loci.settings(v_ns) ->> 'retain_facts')::integer then
        raise invalid_parameter_value using column = 'content',
            message = format('the text has %s facts; at most %s are taken in at once (setting retain_facts)', v_facts, loci.settings(v_ns) ->> 'retain_facts');
    end if;
    select min((i.value ->> 'valid_from')::timestamptz) into v_at from jsonb_array_elements(p_items) i;
    if not p_dry_run then
        perform pg_advisory_xact_lock(hashtextextended('loci.retain', v_ns));
    end if;
    for v_try in 1 .. 5 loop
        v_decisions := case when p_decisions is null then loci.decide_facts(v_ns, v_facts, array(select k from loci.fact_candidates(p_namespace, p_items) k))
                            else loci.read_decisions(v_ns, p_decisions, v_facts) end;
        exit when p_dry_run or loci.hold_facts(v_ns, v_decisions, case when v_at < clock_timestamp() then v_at end);
        if v_try = 5 or p_decisions is not null then
            raise serialization_failure using message = 'what the decisions rest on was changed meanwhile', hint = 'Decide again.';
        end if;
    end loop;
    if p_dry_run then
        return query
        select d.ordinal, d.action, case when d.action = 'nothing' then d.target_id end, d.lineage,
               case when d.action = 'update' and d.signal is not null then d.target_id end, d.target_id, d.links, d.confidence, d.reason, d.signal
        from unnest(v_decisions) d order by d.ordinal;
    else
        return query select a.* from loci.apply_facts(v_ns, p_namespace, p_items, v_decisions) a order by a.ordinal;
    end if;
end $$;
comment on function loci.retain(text, jsonb, jsonb, boolean) is 'Take in the facts of a text (items of loci.remember): create, update, link or nothing for each, decided by rules or as given. One row a fact. Errors: 42501, P0002, 22023, 40001.';
