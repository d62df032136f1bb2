-- Fusion of hits with what stands around them: neighbours, speakers, times.

-- The best hits of a recall, with the score that they are ranked by: the sum of the arms' parts, of what neighbours in
-- time lend, and of what is added for whom and when they are about; times the factor for who said it and when it was.
-- The rules are those of Surroundings and Plan in service/recall, which say where the figures come from. p_first: a row
-- of fuse_arms; p_around: of expand_recall_hits, whose arms names and hierarchy join the others; p_speakers: sources
-- that the question names; p_asked: settings, and what recall_in_one_call is asked. Pure.
create or replace function loci_internal.fuse_hits(p_weights jsonb, p_asked jsonb, p_first record, p_around record,
                                                   p_speakers text[], p_limit integer)
returns table (doc_id bigint, score double precision, factor double precision, standing text)
language plpgsql immutable set search_path from current set plan_cache_mode = force_generic_plan
set enable_nestloop = off
as $$
#variable_conflict use_column
declare
    v_names     constant double precision := coalesce((p_weights ->> 'names')::double precision, 1);
    v_hierarchy constant double precision := coalesce((p_weights ->> 'hierarchy')::double precision, 1);
    v_alone     constant boolean := (p_asked ->> 'alone')::boolean;
    v_days      constant double precision := (p_asked ->> 'days')::double precision;
    v_share     constant double precision := coalesce(p_around.share, 1);
    v_own       constant boolean := coalesce('own' = any (p_around.standings), false);
    v_lent      constant double precision := case when p_around.standings && '{about,own}' then 0.3 else 1 end;
    v_factors   jsonb := loci_internal.standing_factors(
        p_asked, coalesce(p_around.standings && '{told,said}', false), v_own, p_speakers);
begin
    return query
    with alone as materialized (
        select a.doc_id, sum(a.part) as part, sum(a.named) as named
        from (select u.doc_id, u.part, u.named
              from unnest(p_first.doc_ids, p_first.scores, p_first.named) u(doc_id, part, named)
              union all
              select n.doc_id, n.part, n.part
              from (select u.doc_id, least(1, u.score / 4) * v_share * v_names as part
                    from unnest(p_around.linked_ids, p_around.linked_scores) u(doc_id, score)) n
              union all
              select h.doc_id, h.part, 0
              from loci_internal.arm_parts(p_around.hierarchy_ids, p_around.hierarchy_scores, v_hierarchy) h) a
        group by a.doc_id
    ), gathered as (
        select g.doc_id, sum(g.part) as part, sum(g.named) as named, sum(g.lent) * v_lent as lent,
               max(g.standing) as standing, max(g.source) as source, max(g.near) as near
        from (select a.doc_id, a.part, a.named, null::double precision as lent, null as standing, null as source,
                     null::double precision as near from alone a
              union all
              select n.doc_id, null, null, v_share * case n.distance when 1 then 0.5 else 0.25 end * l.part, null,
                     null, null
              from unnest(p_around.near_of, p_around.near_ids, p_around.near_distances) n(of, doc_id, distance)
              join (select a.* from alone a order by a.part desc, a.doc_id limit 100) l on l.doc_id = n.of
              where n.distance > 0
              union all
              select s.doc_id, null, null, null, s.standing, null, null
              from unnest(p_around.standing_ids, p_around.standings) s(doc_id, standing)
              union all
              select o.doc_id, null, null, null, null, o.source, null
              from unnest(p_around.near_ids, p_around.near_sources) o(doc_id, source) where o.source = 'assistant'
              union all
              select t.doc_id, null, null, null, null, null, loci_internal.time_nearness(t.gap, v_days)
              from unnest(p_around.time_ids, p_around.time_gaps) t(doc_id, gap)) g
        group by g.doc_id
    ), factored as (
        select g.*, (v_factors -> coalesce(g.source, '')
                               ->> case when g.source is not null and v_own then 'own' else coalesce(g.standing, '') end
                    )::double precision * (1 + coalesce(g.near, 0)) as factor
        from gathered g
        where num_nonnulls(g.part, g.lent, g.standing, g.near) > 0
    )
    select f.doc_id, (coalesce(f.part, 0) + coalesce(f.lent, 0)
                      + case f.standing when 'about' then greatest(0, 0.7 - coalesce(f.named, 0))
                                        when 'own' then 0.25 else 0 end
                      + case when v_alone then coalesce(f.near, 0) else 0 end) * f.factor, f.factor, f.standing
    from factored f order by 2 desc, 1 limit p_limit;
end $$;
comment on function loci_internal.fuse_hits(jsonb, jsonb, record, record, text[], integer) is
    'Best hits of a recall, with the scores that they are ranked by.';

-- The best hits of a recall: those of the arms (p_first, a row of fuse_arms), fused by fuse_hits with what stands
-- around them (p_around, a row of expand_recall_hits) where anything does. speakers: sources that the question names.
-- Pure.
create or replace function loci_internal.rank_hits(
    p_weights jsonb, p_asked jsonb, p_first record, p_around record, p_limit integer,
    out doc_ids bigint[], out scores double precision[], out factors double precision[], out standings text[],
    out speakers text[])
language plpgsql immutable
as $$
begin
    speakers := '{}';
    if num_nonnulls(p_around.near_of, p_around.standing_ids, p_around.linked_ids, p_around.hierarchy_ids,
                    p_around.time_ids) = 0 then
        doc_ids := p_first.doc_ids[:p_limit];
        scores := p_first.scores[:p_limit];
        return;
    end if;
    speakers := loci_internal.named_sources(p_around.near_ids, p_around.near_sources, p_around.standing_ids,
                                            p_around.standings);
    select array_agg(h.doc_id), array_agg(h.score), array_agg(h.factor), array_agg(h.standing)
    into doc_ids, scores, factors, standings
    from loci_internal.fuse_hits(p_weights, p_asked, p_first, p_around, speakers, p_limit) h;
end $$;
comment on function loci_internal.rank_hits(jsonb, jsonb, record, record, integer) is
    'Best hits of a recall, by its arms and by what stands around them.';

-- How many days lie between a time and each of some memories? 0: it began to be true then, or was true then and is no
-- more; negative: before. One scan of the index of document numbers.
create or replace function loci_internal.days_from_period(p_namespace_id integer, p_documents bigint[],
                                                          p_from timestamptz, p_to timestamptz)
returns table (doc_id bigint, days double precision)
language sql stable set search_path = ''
as $$
    select m.doc_id, case when m.valid_from < p_to and coalesce(m.valid_to, m.valid_from) >= p_from then 0
                          when m.valid_from < p_from then extract(epoch from m.valid_from - p_from) / 86400
                          else extract(epoch from m.valid_from - p_to) / 86400 end
    from loci_data.memories m
    where m.namespace_id = p_namespace_id and m.doc_id = any (p_documents) and isfinite(m.valid_from)
$$;
comment on function loci_internal.days_from_period(integer, bigint[], timestamptz, timestamptz) is
    'Days between a time and the beginning of memories.';

-- How near is a memory that began so many days from the time that a question asks about, which has p_days, to it? 1
-- within it; just beside it 0.5, which fades with the root of its days. Pure, inlines.
create or replace function loci_internal.time_nearness(p_gap double precision, p_days double precision)
returns double precision
language sql immutable parallel safe
return case when p_gap = 0 then 1
            else 0.5 * exp(greatest(-700, -abs(p_gap) / sqrt(greatest(1, p_days)))) end;
comment on function loci_internal.time_nearness(double precision, double precision) is
    'How near to a time a memory is: 0 to 1.';

-- Factors of a memory's score for its speaker and its subject, by its source (assistant, or empty for any other) and
-- its standing (empty: none). p_spoken: among the hits are some of a speaker whom the question names; only beside these
-- it counts that a memory is about that one. p_own: some of what the one who asks says of himself; what an assistant
-- answered belongs to them. The rules of standing_factor in service/recall/score_plan.py. Pure.
create or replace function loci_internal.standing_factors(p_asked jsonb, p_spoken boolean, p_own boolean,
                                                          p_speakers text[])
returns jsonb
language plpgsql immutable set search_path = ''
as $$
declare
    v_named   constant double precision := (p_asked ->> 'speaker_weight')::double precision;
    v_said    constant boolean := (p_asked ->> 'said')::boolean;
    v_several constant boolean := (
        select count(distinct substring(lower(s), '[[:alnum:]]+(?:[''’][[:alnum:]]+)*')) > 1 from unnest(p_speakers) s);
    v_spoken  constant jsonb := jsonb_build_object(
        'told', case when v_several then 1 when v_said then v_named * 2 else v_named end,
        'said', case when not v_several and v_said then v_named * 2 else 1 end);
    v_other   jsonb := jsonb_build_object(
        '', 1, 'about', case when p_spoken and not v_said then 2 else 1 end, 'own', v_named * v_named,
        'foreign', 1 / v_named, 'role', 1 / v_named, 'namesake', 1 / v_named);
    v_weight  constant double precision := case when (p_asked ->> 'you')::boolean then v_named
                                           else (p_asked ->> 'assistant_weight')::double precision end;
begin
    return jsonb_build_object('', v_other || v_spoken, 'assistant', v_spoken || (
        select jsonb_object_agg(o.key, o.value::double precision * v_weight) from jsonb_each_text(v_other) o));
end $$;
comment on function loci_internal.standing_factors(jsonb, boolean, boolean, text[]) is
    'Factors of scores by source and standing.';

-- Which sources are those of speakers whom the question names: of hits that one of them said? Pure.
create or replace function loci_internal.named_sources(p_doc_ids bigint[], p_sources text[], p_standing_ids bigint[],
                                                       p_standings text[])
returns text[]
language plpgsql immutable parallel safe set search_path = '' set plan_cache_mode = force_generic_plan
as $$
begin
    return case when p_standings && '{told,said}' then array(
        select distinct o.source
        from unnest(p_standing_ids, p_standings) s(doc_id, standing)
        join unnest(p_doc_ids, p_sources) o(doc_id, source) on o.doc_id = s.doc_id
        where s.standing in ('told', 'said') and o.source is not null) else '{}' end;
end $$;
comment on function loci_internal.named_sources(bigint[], text[], bigint[], text[]) is
    'Sources of hits that a speaker said whom the question names.';

-- What says how likely the hits of a recall answer. coverage: the largest share of the question's terms that one of
-- p_seeds has; said: of what says something of the question, the share that the speaker whom it names said, or nobody
-- did; null: it names no one speaker, or nothing says a word of it. See service/recall/relevance.py. Pure.
create or replace function loci_internal.recall_evidence(
    p_seeds bigint[], p_covered double precision[], p_doc_ids bigint[], p_sources text[], p_standing_ids bigint[],
    p_standings text[], p_speakers text[], out coverage double precision, out said double precision)
language plpgsql immutable parallel safe set search_path = '' set plan_cache_mode = force_generic_plan
set enable_nestloop = off
as $$
begin
    select coalesce(max(u.share), 0) into coverage from unnest(p_covered) u(share);
    if cardinality(p_speakers) <> 1 and not coalesce(p_standings && '{foreign,role,namesake}', false) then
        return;
    end if;
    select 1 - sum(case when h.standing in ('foreign', 'role', 'namesake')
                             or h.standing is null and cardinality(p_speakers) = 1 and h.source <> p_speakers[1]
                        then h.weight else 0 end) / nullif(sum(h.weight), 0) into said
    from (select u.doc_id, u.share * u.share as weight, s.standing, o.source
          from unnest(p_seeds, p_covered) u(doc_id, share)
          left join unnest(p_standing_ids, p_standings) s(doc_id, standing) on s.doc_id = u.doc_id
          left join (select n.doc_id, min(n.source) as source from unnest(p_doc_ids, p_sources) n(doc_id, source)
                     group by n.doc_id) o on o.doc_id = u.doc_id) h;
end $$;
comment on function loci_internal.recall_evidence(bigint[], double precision[], bigint[], text[], bigint[], text[],
                                                  text[]) is
    'Coverage of a question by its best hits, and the share that the speaker said whom it names.';
