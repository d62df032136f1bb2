-- Which open pairs is a model asked about next, the oldest first? Those that no job has asked about yet: its result
-- names the two memories of each (judged), and a new version of either is another memory. A pair is passed where the
-- newer memory is true from before the older one is. Both sides as list_unsettled has them, and what compare_pair says.
-- Range of memory_links_open, jobs of the kind (jobs_kind), and about a millisecond a pair. Security definer; the
-- operator's. Errors: 42501, P0002.
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
