-- Settle open pairs as a model says, as far as guards allow: [{newer_id, older_id, verdict, confidence}], verdict:
-- replaces, corrects or both_true. One row each, with the guard that refused it; null: it is settled
-- (settle_memories).
--   changed       the pair is not open any more, or one of the two is not current
--   unsure        less confident than supersession_threshold
-- and of those that end a memory
--   supersession  the setting does not say apply
--   assistant     an assistant's word ends nothing that others told
--   subject       the two are not about the same
--   shorter       the newer one was true from before the older one, or ends before it does
--   protected     so important or so often observed (protected_…), and no rule sees a contradiction
--   breaker       more end by the model's word alone than dream_removed_share of the current memories (one may, unless
--                 the share is 0); the surest do
-- Locks lineages in order of name, as settle_memories does for two. Security definer; the operator's. Errors: 42501,
-- P0002, 22023.
create or replace function loci_api.settle_by_model(p_namespace text, p_verdicts jsonb)
returns table (newer_id uuid, older_id uuid, verdict text, guard text)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'admin');
    v_settings jsonb := loci_internal.settings(v_ns);
    v_one      record;
begin
    perform from loci_data.lineages l
    where l.namespace_id = v_ns and l.lineage = any (array(
        select m.lineage from jsonb_to_recordset(p_verdicts) v(newer_id uuid, older_id uuid)
        join loci_data.memories m on m.namespace_id = v_ns and m.id in (v.newer_id, v.older_id)))
    order by l.lineage for no key update;
    for v_one in
        with weighed as materialized (
            select v.newer_id, v.older_id, v.verdict, v.confidence, n.valid_from, c.signal,
                   loci_internal.guard_of_settling(v_settings, n, o, v.verdict, v.confidence, c.comparable, c.signal)
                       as guard
            from jsonb_to_recordset(p_verdicts) v(newer_id uuid, older_id uuid, verdict text,
                                                  confidence double precision)
            join loci_data.memories n on n.namespace_id = v_ns and n.id = v.newer_id
            join loci_data.memories o on o.namespace_id = v_ns and o.id = v.older_id
            cross join lateral loci_internal.compare_pair(v_ns, n, o) c
        ), counted as materialized (
            select w.*, w.guard is null and w.verdict <> 'both_true' and w.signal is null as alone,
                   row_number() over (
                       partition by w.guard is null and w.verdict <> 'both_true' and w.signal is null
                       order by w.confidence desc, w.newer_id, w.older_id) as nth
            from weighed w
        )
        select k.*, greatest(((v_settings ->> 'dream_removed_share')::double precision > 0)::integer,
                             loci_api.removable_memories(p_namespace)) as allowed
        from counted k order by k.valid_from, k.newer_id, k.older_id
    loop
        newer_id := v_one.newer_id;
        older_id := v_one.older_id;
        verdict := v_one.verdict;
        guard := case when v_one.alone and v_one.nth > v_one.allowed then 'breaker' else v_one.guard end;
        if guard is null then
            guard := loci_internal.settle_open_pair(p_namespace, newer_id, older_id, verdict);
        end if;
        return next;
    end loop;
end $$;
comment on function loci_api.settle_by_model(text, jsonb) is
    'Settle open pairs as a model says; one row each, with the guard that refused it. Errors: 42501, P0002, 22023.';

-- Which guard refuses what a model says of a pair, whatever else it says? See settle_by_model. Pure.
create or replace function loci_internal.guard_of_settling(
    p_settings jsonb, p_newer loci_data.memories, p_older loci_data.memories, p_verdict text,
    p_confidence double precision, p_comparable boolean, p_signal text) returns text
language sql immutable parallel safe
as $$
    select case
        when (p_confidence >= (p_settings ->> 'supersession_threshold')::double precision) is not true then 'unsure'
        when p_verdict = 'both_true' then null
        when p_settings ->> 'supersession' <> 'apply' then 'supersession'
        when p_newer.source = 'assistant' and p_older.source is distinct from 'assistant' then 'assistant'
        when p_comparable is not true then 'subject'
        when p_newer.valid_from < p_older.valid_from
             or (p_newer.valid_to is null or p_older.valid_to <= p_newer.valid_to) is not true then 'shorter'
        when p_signal is null and (
             p_older.importance >= (p_settings ->> 'protected_importance')::double precision
             or p_older.observations >= (p_settings ->> 'protected_observations')::integer) then 'protected' end
$$;
comment on function loci_internal.guard_of_settling(jsonb, loci_data.memories, loci_data.memories, text,
                                                    double precision, boolean, text) is
    'The guard that refuses what a model says of a pair; null: none.';

-- Settle a pair if it is still open and both are still current: null; else changed, and nothing is done. One probe of
-- memory_links_present.
create or replace function loci_internal.settle_open_pair(p_namespace text, p_newer uuid, p_older uuid, p_verdict text)
returns text
language plpgsql volatile set search_path = ''
as $$
begin
    if not exists (
        select from loci_data.namespaces s
        join loci_data.memories n on n.namespace_id = s.id and n.id = p_newer
        join loci_data.memories o on o.namespace_id = s.id and o.id = p_older
        join loci_data.memory_links l on l.namespace_id = s.id and l.source_id = n.lineage_id
             and l.target_id = o.lineage_id and l.type = 'contradicts' and l.superseded_at is null
        where s.name = p_namespace) then
        return 'changed';
    end if;
    perform loci_api.settle_memories(p_namespace, p_newer, p_older, p_verdict);
    return null;
exception when exclusion_violation or no_data_found then
    return 'changed';
end $$;
comment on function loci_internal.settle_open_pair(text, uuid, uuid, text) is
    'Settle a pair that is still open; changed where it is not.';
