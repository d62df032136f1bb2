-- Which of what is known beside a fact may it outdate, though no rule is sure? People tell a change in words that no
-- rule knows ("Nadia has gone low-salt"), so these are the statements that have something in common with it, the
-- likeliest first: {target_id, fact, similarity, is_near}. First what contradicts it by a rule that is not sure. Else
-- it is likelier the nearer it is by meaning, 0.1 more where both are of the same subject, and 0.02 less for each of
-- its words: a long text is seldom one fact (measured: bench.changing_facts). At most unsettled_named of them, without
-- what says the same. is_near: the pair stays open until it is settled: a rule sees it; or the same subject, and a
-- cosine from unsettled_similarity on (words in common where there are no vectors). Pure.
create or replace function loci_internal.notice_unsettled(p_known loci_api.fact_candidate[], p_settings jsonb)
returns jsonb
language sql immutable parallel safe
as $$
    select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                                  'target_id', n.memory_id, 'fact', n.fact, 'similarity', round(n.near::numeric, 3),
                                  'is_near', n.signal is not null or n.in_common = 'subject'
                                      and n.near >= (p_settings ->> 'unsettled_similarity')::double precision))
                              order by n.nth), '[]')
    from (select k.memory_id, k.fact, k.in_common, k.signal, w.near,
                 row_number() over (order by k.signal is null, w.near
                                             + case k.in_common when 'subject' then 0.1 else 0 end
                                             - 0.02 * cardinality(regexp_split_to_array(left(k.content, 2000), '\s+'))
                                             desc, k.fact, k.memory_id) as nth
          from unnest(p_known) k
          cross join lateral (select least(case when k.signal is not null then k.confidence
                                                else coalesce(k.similarity, k.overlap) end, 1) as near) w
          where (k.in_common is not null or k.signal is not null) and not k.later
            and not (k.exact or k.same or k.alike)) n
    where n.nth <= (p_settings ->> 'unsettled_named')::integer
$$;
comment on function loci_internal.notice_unsettled(loci_api.fact_candidate[], jsonb) is
    'Memories that a fact may outdate, though no rule is sure, likeliest first.';

-- Pairs as replies name them: [{id, content, valid_from, similarity}] for {target_id, similarity}, in their order, each
-- once. The current version of each lineage is meant; none where there is none, where it is p_lineage_id's own, or
-- where both were said to be true. A few probes of memories_chain and of the primary key of memory_links.
create or replace function loci_internal.name_unsettled(p_namespace_id integer, p_lineage_id uuid, p_pairs jsonb)
returns jsonb
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    return (
    select coalesce(jsonb_agg(jsonb_build_object('id', u.id, 'content', u.content, 'valid_from', u.valid_from,
                                                 'similarity', u.similarity) order by u.nth), '[]')
    from (select distinct on (c.id) c.id, c.content, c.valid_from, p.value -> 'similarity' as similarity, p.nth
          from jsonb_array_elements(p_pairs) with ordinality p(value, nth)
          cross join lateral (select m.lineage_id from loci_data.memories m where m.namespace_id = p_namespace_id
                              and m.id = (p.value ->> 'target_id')::uuid limit 1) t
          cross join lateral loci_internal.current_of_lineage(p_namespace_id, t.lineage_id) c
          where t.lineage_id is distinct from p_lineage_id and not loci_internal.are_both_true(
              p_namespace_id, p_lineage_id, t.lineage_id)
          order by c.id, p.nth) u);
end $$;
comment on function loci_internal.name_unsettled(integer, uuid, jsonb) is
    'Memories that a memory may outdate, as replies name them.';
