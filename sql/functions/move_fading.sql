-- Bring fades_at of these edges in step with the rates and the threshold in force. Counts those believed now that crossed
-- p_at: faded, and revived. Edges that were taken back move too: known_at still reads them.
-- Locked in order of id, like everywhere; only those that move. What is believed and when is not touched, so updated_at stays.
-- Called by fade_batch; internal.
create or replace function loci.move_fading(p_namespace_id integer, p_ids uuid[], p_at timestamptz, out faded bigint, out revived bigint)
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan
set enable_nestloop = off set enable_seqscan = off  -- where there is a choice: the size of a batch is unknown to the planner
as $$
declare
    v_rates record := loci.hold_rates(p_namespace_id);
begin
    with changed as materialized (
        select e.id, e.fades_at as was, f.fades_at
        from loci_data.edges e
        cross join lateral (
            select loci.fades_at(e.confidence, coalesce((v_rates.rates ->> e.type)::double precision, v_rates.rate), e.last_observed_at,
                                 v_rates.threshold) as fades_at) f
        where e.namespace_id = p_namespace_id and e.id = any(p_ids) and e.fades_at <> f.fades_at
        order by e.id
        for no key update of e
    ), moved as (
        update loci_data.edges e set fades_at = c.fades_at
        from changed c where e.namespace_id = p_namespace_id and e.id = any(array(select x.id from changed x)) and e.id = c.id
        returning c.was, c.fades_at, e.superseded_at
    )
    select count(*) filter (where m.was > p_at and m.fades_at <= p_at), count(*) filter (where m.was <= p_at and m.fades_at > p_at)
    into faded, revived
    from moved m where m.superseded_at is null;
end $$;
comment on function loci.move_fading(integer, uuid[], timestamptz) is 'Recalculate fades_at of edges; how many faded and how many came back. Internal.';
