-- Contradiction pass: verdicts about pairs of facts, and when the pass is queued.

-- Record what was judged of each pair whose facts are both there, so that it is not asked again.
create or replace function loci_internal.record_verdicts(p_namespace_id integer, p_verdicts jsonb, p_at timestamptz)
returns void
language sql volatile set search_path = ''
as $$
    insert into loci_data.supersession_verdicts (namespace_id, older_id, newer_id, contradicts, confidence, judged_at)
    select p_namespace_id, v.older_id, v.newer_id, v.contradicts,
           case when v.contradicts is not null then v.confidence end, p_at
    from jsonb_to_recordset(p_verdicts) v(older_id uuid, newer_id uuid, contradicts boolean,
                                          confidence double precision)
    where 2 = (select count(*) from loci_data.attributes a where a.namespace_id = p_namespace_id
               and a.id in (v.older_id, v.newer_id))
    order by v.older_id, v.newer_id on conflict do nothing
$$;
comment on function loci_internal.record_verdicts(integer, jsonb, timestamptz) is
    'Record what was judged of pairs of facts.';

-- Record what a model said of pairs of facts, so that none is asked about twice, and do about it what the guards allow:
-- decisions with signal `model` are made and, if they may be, applied. contradicts null: the model did not answer. One
-- transaction is one operation; undoing it, or a decision, brings the facts back, and the pairs stay judged. More that
-- waits is left to a job. p_verdicts: [{older_id, newer_id, contradicts, confidence, evidence}]. Returns one row a
-- contradiction. Locks as every writer: aspects, then attributes, in order of id. Security definer: writes past the
-- policies; checks the caller itself. Errors: 42501, P0002, 22023.
create or replace function loci_api.apply_contradiction_verdicts(p_namespace text, p_verdicts jsonb)
returns table (older_id uuid, newer_id uuid, guard text, supersession_id uuid, status text, held text)
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'writer');
    v_settings jsonb := loci_internal.settings(v_ns);
    v_at       timestamptz;
    v_applied  uuid[];
begin
    if jsonb_typeof(p_verdicts) is distinct from 'array' then
        raise invalid_parameter_value using column = 'verdicts', message = 'verdicts must be an array';
    end if;
    perform from loci_data.aspects s
    where s.namespace_id = v_ns and s.id = any (array(
        select a.aspect_id from jsonb_to_recordset(p_verdicts) v(older_id uuid, newer_id uuid)
        cross join lateral (select i.aspect_id from loci_data.attributes i where i.namespace_id = v_ns
                            and i.id in (v.older_id, v.newer_id)) a))
    order by s.id for no key update;
    v_at := clock_timestamp();
    return query
    with done as materialized (
        select j.* from loci_internal.judge_fact_pairs(v_ns, p_verdicts, v_settings) j
    ), decided as (
        insert into loci_data.supersessions as s (namespace_id, id, older_id, newer_id, signal, confidence, evidence,
                                                  origin, status, created_at,
                                                  decided_at, decided_by)
        select v_ns, loci_api.uuid7(), d.older_id, d.newer_id, 'model', d.confidence, d.evidence, 'pass', d.status,
               v_at,
               case d.status when 'applied' then v_at end, case d.status when 'applied' then loci.current_agent() end
        from done d where d.guard is null order by d.older_id, d.newer_id
        returning s.id, s.older_id, s.newer_id
    )
    select d.older_id, d.newer_id, d.guard, s.id, d.status, d.held
    from done d left join decided s on s.older_id = d.older_id and s.newer_id = d.newer_id order by d.newer_id desc,
         d.older_id;
    v_applied := array(select s.older_id from loci_data.supersessions s
                       where s.namespace_id = v_ns and s.signal = 'model' and s.status = 'applied'
                         and s.decided_at = v_at);
    perform loci_internal.refold_facts(v_ns, v_applied, v_at);
    perform loci_internal.record_verdicts(v_ns, p_verdicts, v_at);
    if v_settings ->> 'supersession_model' <> 'off' and exists (select from loci_internal.unjudged_fact_pairs(v_ns, 1))
        then
        perform loci_internal.insert_job(v_ns, 'contradictions', '{}', 'contradictions', 'dream');
    end if;
end $$;
comment on function loci_api.apply_contradiction_verdicts(text, jsonb) is
    'Record what a model said of pairs of facts and supersede or propose what the guards allow; one row a '
    'contradiction. Errors: 42501, P0002, 22023.';

-- What may a model's verdicts do? One row a pair that it says is a contradiction. guard: why nothing is done about it:
-- that of check_fact_pairs, or overtaken (another of these supersedes the older one first). Otherwise status, and what
-- kept it from being applied (held): the namespace only wants proposals (null), that of check_fact_pairs, or breaker
-- (with those of the last day, more than dream_removed_share of all active facts, and more than one).
create or replace function loci_internal.judge_fact_pairs(p_namespace_id integer, p_verdicts jsonb, p_settings jsonb)
returns table (older_id uuid, newer_id uuid, confidence double precision, evidence text[], guard text, status text,
               held text)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with checked as materialized (
        select c.* from loci_internal.check_fact_pairs(p_namespace_id, p_verdicts, p_settings) c
    ), placed as materialized (  -- one successor each, as everywhere
        select c.*, case when c.guard is null and c.held is null then row_number() over (
                    partition by c.older_id, c.guard is null and c.held is null order by c.newer_from, c.newer_id)
                        end as nth
        from checked c
    ), counted as materialized (
        select count(*) filter (where f.recent) as recent, count(*) as facts
        from (select false as recent from loci_data.attributes a where a.namespace_id = p_namespace_id
              and a.status = 'active' and a.kind = 'attribute'
              union all
              select true from loci_data.supersessions d where d.namespace_id = p_namespace_id and d.signal = 'model'
                  and d.status = 'applied'
                          and d.decided_at > clock_timestamp() - interval '24 hours') f
    )
    select p.older_id, p.newer_id, p.confidence, p.evidence, g.guard,
           case when g.guard is not null then null when p.held is null and b.acts and not b.over then 'applied'
               else 'proposed' end,
           case when g.guard is null then coalesce(p.held, case when b.acts and b.over then 'breaker' end) end
    from placed p
    cross join (select p_settings ->> 'supersession' = 'apply'
                and p_settings ->> 'supersession_model' = 'apply' as acts,
                       c.recent + (select count(*) from placed x where x.nth = 1)
                       > greatest((r.share > 0)::integer,
                                  loci_internal.removal_limit(p_namespace_id, r.share, c.facts)) as over
                from counted c
                cross join (select (p_settings ->> 'dream_removed_share')::double precision as share) r) b
    cross join lateral (select
                        coalesce(p.guard, case when p.nth > 1 and b.acts
                                 and not b.over then 'overtaken' end) as guard) g
$$;
comment on function loci_internal.judge_fact_pairs(integer, jsonb, jsonb) is
    'Effects of a model''s verdicts, and the guard that stands against each.';

-- Which pairs that a model says are contradictions may supersede? guard: why nothing is done about one
--   changed     one of the two is no active fact any more, they are no siblings, their order in time is another, or
--            the pair was decided meanwhile
--   unsure      less confident than supersession_threshold
-- held: why one is only proposed: protected (importance or the memory it rests on), shorter (the newer ends before the
-- older does). newer_from: when the newer begins. Primary keys. Inlines.
create or replace function loci_internal.check_fact_pairs(p_namespace_id integer, p_verdicts jsonb, p_settings jsonb)
returns table (older_id uuid, newer_id uuid, confidence double precision, evidence text[], newer_from timestamptz,
               guard text, held text)
language sql stable
as $$
    with said as materialized (
        select v.older_id, v.newer_id, v.confidence, coalesce(v.evidence, '{}') as evidence
        from jsonb_to_recordset(p_verdicts) v(older_id uuid, newer_id uuid, contradicts boolean,
                                              confidence double precision, evidence text[])
        where v.contradicts
    )
    select s.older_id, s.newer_id, s.confidence, s.evidence, n.valid_from,
           case when (o.status = 'active' and n.status = 'active' and o.kind = 'attribute' and n.kind = 'attribute'
                      and o.aspect_id = n.aspect_id
                      and (n.valid_from, n.recorded_at, n.id) > (o.valid_from, o.recorded_at, o.id)
                      and loci_internal.periods_overlap(o.valid_from, o.valid_to, n.valid_from, n.valid_to)
                      and p.single_valued is not false
                      and not exists (select from loci_data.supersessions d where d.namespace_id = p_namespace_id
                                      and (d.older_id, d.newer_id) in ((s.older_id, s.newer_id),
                                          (s.newer_id, s.older_id)))) is not true then 'changed'
                when (s.confidence >= (p_settings ->> 'supersession_threshold')::double precision) is not true
                    then 'unsure' end,
           case when o.importance >= (p_settings ->> 'protected_importance')::double precision
                     or m.importance >= (p_settings ->> 'protected_importance')::double precision
                     or m.observations >= (p_settings ->> 'protected_observations')::integer then 'protected'
                when (n.valid_to is null or o.valid_to <= n.valid_to) is not true then 'shorter' end
    from said s
    left join lateral (select a.* from loci_data.attributes a where a.namespace_id = p_namespace_id
                       and a.id = s.older_id limit 1) o on true
    left join lateral (select a.* from loci_data.attributes a where a.namespace_id = p_namespace_id
                       and a.id = s.newer_id limit 1) n on true
    left join lateral (select a.single_valued from loci_data.aspects a where a.namespace_id = p_namespace_id
                       and a.id = o.aspect_id limit 1) p on true
    left join lateral (select r.importance, r.observations from loci_data.memories r
                       where r.namespace_id = p_namespace_id and r.id = o.memory_id limit 1) m on true
$$;
comment on function loci_internal.check_fact_pairs(integer, jsonb, jsonb) is
    'Pairs of facts that a model says are contradictions, and what stands against superseding.';

-- Trigger, at the end of a transaction: facts that wait for a model have a job that will look at them, if the namespace
-- wants that (setting supersession_model; where signals are switched off, the model is too). One job is enough for all
-- that wait: one that waits itself is held until this transaction has committed, so that it does not begin before and
-- miss what this one wrote. 10 µs where it is off. Index jobs_state.
create or replace function loci_internal.enqueue_contradiction_check() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_settings jsonb := (select n.settings from loci_data.namespaces n where n.id = new.namespace_id);
begin
    if coalesce(v_settings ->> 'supersession_model', 'off') = 'off' or v_settings ->> 'supersession' = 'off' then
        return null;
    end if;
    perform from loci_data.jobs j
    where j.namespace_id = new.namespace_id and j.state = 'waiting' and j.kind = 'contradictions' limit 1 for share;
    if not found then
        perform loci_internal.insert_job(new.namespace_id, 'contradictions', '{}', 'contradictions', 'dream');
    end if;
    return null;
end $$;
comment on function loci_internal.enqueue_contradiction_check() is
    'Trigger: leave facts that wait for a model to a job.';

-- Pairs that wait for a model get a job, at the end of the transaction: by then it holds all its other locks, and
-- waits for nobody who waits for it. A trigger that can wait cannot be replaced, so it is made anew.
drop trigger if exists contradiction_queue_job on loci_data.contradiction_queue;
create constraint trigger contradiction_queue_job after insert
on loci_data.contradiction_queue deferrable initially deferred
    for each row execute function loci_internal.enqueue_contradiction_check();
