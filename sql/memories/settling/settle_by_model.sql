-- Pairs settled by a model, within guards.

-- Which open pairs is a model asked about next, the oldest first? Only pairs that no job has asked about yet: results
-- of jobs name both memories (judged), and a new version is another memory. A pair is passed where the newer memory is
-- true from before the older one is. Both sides as list_unsettled has them, and what compare_pair says. Range of
-- memory_links_open, jobs of the kind (jobs_kind), and about a millisecond a pair. Security definer; the operator's.
-- Errors: 42501, P0002.
create or replace function loci_api.pairs_to_settle(p_namespace text, p_limit integer default 20)
returns table (newer_id uuid, older_id uuid, newer jsonb, older jsonb, comparable boolean, same_subject boolean,
               signal text)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'admin');
begin
    return query
    with judged as materialized (
        select (p.pair ->> 'newer_id')::uuid as newer, (p.pair ->> 'older_id')::uuid as older
        from loci_data.jobs j
        cross join lateral jsonb_array_elements(j.result -> 'judged') p(pair)
        where j.namespace_id = v_ns and j.kind = 'settle' and j.state = 'succeeded'
    ), unsettled as materialized (
        select w as newer, o as older, l.recorded_at, l.source_id, l.target_id
        from loci_data.memory_links l
        cross join lateral loci_internal.current_of_lineage(v_ns, l.source_id) w
        cross join lateral loci_internal.current_of_lineage(v_ns, l.target_id) o
        where l.namespace_id = v_ns and l.type = 'contradicts' and l.superseded_at is null
          and w.valid_from >= o.valid_from
          and not exists (select from judged d where d.newer = w.id and d.older = o.id)
        order by l.recorded_at, l.source_id, l.target_id limit p_limit
    )
    select (u.newer).id, (u.older).id, loci_internal.side_of_pair(u.newer), loci_internal.side_of_pair(u.older),
           c.comparable, c.same_subject, c.signal
    from unsettled u
    cross join lateral loci_internal.compare_pair(v_ns, u.newer, u.older) c
    order by u.recorded_at, u.source_id, u.target_id;
end $$;
comment on function loci_api.pairs_to_settle(text, integer) is
    'Open pairs that a model was not asked about yet, oldest first. Errors: 42501, P0002.';

-- How do two memories of a pair stand to each other? comparable: they may be about the same (may_be_about_the_same);
-- same_subject: they are of one subject, or both in the first person of one party; signal: the rule by which the newer
-- one contradicts the older one, null: none does. Probes of entity_names; about a millisecond.
create or replace function loci_internal.compare_pair(p_namespace_id integer, p_newer loci_data.memories,
                                                      p_older loci_data.memories)
returns table (comparable boolean, same_subject boolean, signal text)
language plpgsql stable rows 1 set search_path = ''
as $$
declare
    v_new jsonb := loci_internal.fact_standing(p_namespace_id, p_newer.content, p_newer.about, p_newer.category,
                                               p_newer.source, p_newer.created_by);
    v_old jsonb := loci_internal.fact_standing(p_namespace_id, p_older.content, p_older.about, p_older.category,
                                               p_older.source, p_older.created_by);
begin
    comparable := loci_internal.may_be_about_the_same(v_new, v_old);
    same_subject := comparable and coalesce(v_new ->> 'subject' = v_old ->> 'subject'
                                           or 'true' = all (array[v_new ->> 'first', v_old ->> 'first']), false);
    if comparable then
        select c.signal into compare_pair.signal
        from loci_internal.compare_facts(
            loci_internal.read_fact(loci_internal.text_to_compare(p_namespace_id, p_older.content, p_older.about)),
            loci_internal.read_fact(loci_internal.text_to_compare(p_namespace_id, p_newer.content, p_newer.about)),
            v_new ->> 'party' = v_old ->> 'party',
            (loci_internal.settings(p_namespace_id) ->> 'shared_tokens')::integer) c;
    end if;
    return next;
end $$;
comment on function loci_internal.compare_pair(integer, loci_data.memories, loci_data.memories) is
    'Whether two memories may be about the same, are of one subject, and contradict each other by a rule.';

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
