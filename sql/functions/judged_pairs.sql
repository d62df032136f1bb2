-- What may a model's verdicts do (row S7)? One row a pair that it says is a contradiction. guard: why nothing is done about it
--   changed     one of the two is no active fact any more, they are no siblings, their order in time is another, or the pair was decided meanwhile
--   unsure      less confident than supersession_threshold
--   overtaken   another of these supersedes the older one first
-- otherwise status, and what kept it from being applied (held): the namespace only wants proposals (null), protected (importance
-- or the memory it rests on), shorter (the newer ends before the older does), breaker (with those of the last day, more than
-- dream_removed_share of all active facts, and more than one). Primary keys. Called by apply_verdicts, which holds the aspects; internal.
create or replace function loci.judged_pairs(p_namespace_id integer, p_verdicts jsonb, p_settings jsonb)
returns table (older_id uuid, newer_id uuid, confidence double precision, evidence text[], guard text, status text, held text)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with said as materialized (
        select v.older_id, v.newer_id, v.confidence, coalesce(v.evidence, '{}') as evidence
        from jsonb_to_recordset(p_verdicts) v(older_id uuid, newer_id uuid, contradicts boolean, confidence double precision, evidence text[])
        where v.contradicts
    ), checked as materialized (
        select s.*, n.valid_from as newer_from,
               case when (o.status = 'active' and n.status = 'active' and o.kind = 'attribute' and n.kind = 'attribute' and o.aspect_id = n.aspect_id
                          and (n.valid_from, n.recorded_at, n.id) > (o.valid_from, o.recorded_at, o.id)
                          and loci.meet(o.valid_from, o.valid_to, n.valid_from, n.valid_to) and p.single_valued is not false
                          and not exists (select from loci_data.supersessions d where d.namespace_id = p_namespace_id
                                          and (d.older_id, d.newer_id) in ((s.older_id, s.newer_id), (s.newer_id, s.older_id)))) is not true then 'changed'
                    when (s.confidence >= (p_settings ->> 'supersession_threshold')::double precision) is not true then 'unsure' end as guard,
               case when o.importance >= (p_settings ->> 'protected_importance')::double precision
                         or m.importance >= (p_settings ->> 'protected_importance')::double precision
                         or m.observations >= (p_settings ->> 'protected_observations')::integer then 'protected'
                    when (n.valid_to is null or o.valid_to <= n.valid_to) is not true then 'shorter' end as held
        from said s
        left join lateral (select a.* from loci_data.attributes a where a.namespace_id = p_namespace_id and a.id = s.older_id limit 1) o on true
        left join lateral (select a.* from loci_data.attributes a where a.namespace_id = p_namespace_id and a.id = s.newer_id limit 1) n on true
        left join lateral (select a.single_valued from loci_data.aspects a where a.namespace_id = p_namespace_id and a.id = o.aspect_id limit 1) p on true
        left join lateral (select r.importance, r.observations from loci_data.memories r where r.namespace_id = p_namespace_id and r.id = o.memory_id limit 1) m on true
    ), placed as materialized (  -- one successor each, as everywhere
        select c.*, case when c.guard is null and c.held is null then row_number() over (
                    partition by c.older_id, c.guard is null and c.held is null order by c.newer_from, c.newer_id) end as nth
        from checked c
    ), counted as materialized (
        select count(*) filter (where f.recent) as recent, count(*) as facts
        from (select false as recent from loci_data.attributes a where a.namespace_id = p_namespace_id and a.status = 'active' and a.kind = 'attribute'
              union all
              select true from loci_data.supersessions d where d.namespace_id = p_namespace_id and d.signal = 'model' and d.status = 'applied'
                          and d.decided_at > clock_timestamp() - interval '1 day') f
    )
    select p.older_id, p.newer_id, p.confidence, p.evidence, g.guard,
           case when g.guard is not null then null when p.held is null and b.acts and not b.over then 'applied' else 'proposed' end,
           case when g.guard is null then coalesce(p.held, case when b.acts and b.over then 'breaker' end) end
    from placed p
    cross join (select p_settings ->> 'supersession' = 'apply' and p_settings ->> 'supersession_model' = 'apply' as acts,
                       c.recent + (select count(*) from placed x where x.nth = 1)
                       > greatest((r.share > 0)::integer, loci.removal_limit(p_namespace_id, r.share, c.facts)) as over
                from counted c cross join (select (p_settings ->> 'dream_removed_share')::double precision as share) r) b
    cross join lateral (select coalesce(p.guard, case when p.nth > 1 and b.acts and not b.over then 'overtaken' end) as guard) g
$$;
comment on function loci.judged_pairs(integer, jsonb, jsonb) is 'What the verdicts of a model may do, and which guard stands against it. Internal.';
