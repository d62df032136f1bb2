-- Pairs of facts that no verdict is known of yet.

-- The next pairs of facts for a model: at most p_limit, of the newest facts that wait. Facts that have none (left)
-- leave the queue, 200 at most in a call; done: nothing waits any more. Primary keys and undecided_siblings.
create or replace function loci_internal.unjudged_fact_pairs(p_namespace_id integer, p_limit integer)
returns table (older_id uuid, newer_id uuid)
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_settings jsonb := loci_internal.settings(p_namespace_id);
    v_shown    text[] := '{}';
    v_done     uuid[] := '{}';
    v_id       uuid;
    v_pair     record;
    v_open     boolean;
begin
    for v_id in select q.attribute_id from loci_data.contradiction_queue q where q.namespace_id = p_namespace_id
                order by q.attribute_id desc limit 200 loop
        v_open := false;
        for v_pair in select s.older_id, s.newer_id
            from loci_internal.undecided_siblings(p_namespace_id, v_id, v_settings) s order by s.older_id, s.newer_id
                loop
            v_open := true;
            if cardinality(v_shown) < p_limit and v_pair.older_id || ' ' || v_pair.newer_id <> all (v_shown) then
                v_shown := v_shown || (v_pair.older_id || ' ' || v_pair.newer_id);
                older_id := v_pair.older_id;
                newer_id := v_pair.newer_id;
                return next;
            end if;
        end loop;
        if not v_open then
            v_done := v_done || v_id;
        end if;
        exit when cardinality(v_shown) >= p_limit;
    end loop;
    delete from loci_data.contradiction_queue q where q.namespace_id = p_namespace_id and q.attribute_id = any (v_done);
end $$;
comment on function loci_internal.unjudged_fact_pairs(integer, integer) is
    'Pairs of facts that wait for a model, of the newest facts; facts without any leave the queue.';

-- With which siblings might an active fact be in contradiction although no signal fires? Those that are active at a
-- time when it is valid too, and share shared_tokens words with it, of which one is part of what both are about
-- (attribute_terms). An aspect that is declared multi-valued has none. The supersession_model_siblings with most words
-- in common are taken, of supersession_candidates siblings a term; pairs that were decided or judged before are left
-- out, so that a fact is done when they are. Statements over 1,000 characters are no atomic facts and left out. About
-- 0.3 ms a candidate.
create or replace function loci_internal.undecided_siblings(p_namespace_id integer, p_attribute_id uuid,
                                                            p_settings jsonb)
returns table (older_id uuid, newer_id uuid)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
#variable_conflict use_column
begin
    return query
    with written as materialized (
        select a.*, s.single_valued, loci_internal.read_statement(a.content) as said
        from loci_data.attributes a
        join loci_data.aspects s on s.namespace_id = a.namespace_id and s.id = a.aspect_id
             and s.single_valued is not false
        join loci_data.entities e on e.namespace_id = a.namespace_id and e.id = a.entity_id and e.merged_into is null
        where a.namespace_id = p_namespace_id and a.id = p_attribute_id and a.status = 'active'
          and a.kind = 'attribute' and length(a.content) <= 1000
    ), sibling as materialized (
        select s.id from written w
        cross join lateral loci_internal.siblings_sharing_stems(
            p_namespace_id, w.aspect_id, w.id, (w.said).sequence, (p_settings ->> 'supersession_candidates')::integer) s
    ), pair as materialized (
        select w.said, w.single_valued, w.id, b.id as sibling_id, b.said as sibling_said,
               (w.valid_from, w.recorded_at, w.id) > (b.valid_from, b.recorded_at, b.id) as wins,
               (select count(*) from (select unnest((w.said).words) intersect
                                      select unnest((b.said).words)) shared) as shared
        from sibling x
        cross join written w
        cross join lateral (select o.*, loci_internal.read_statement(o.content) as said from loci_data.attributes o
                            where o.namespace_id = p_namespace_id and o.id = x.id
                              and length(o.content) <= 1000 offset 0) b
        where b.status = 'active' and b.kind = 'attribute'
          and loci_internal.periods_overlap(w.valid_from, w.valid_to, b.valid_from, b.valid_to)
          and (b.said).words <> (w.said).words
    ), nearest as materialized (
        select case when p.wins then p.sibling_id else p.id end as older_id,
               case when p.wins then p.id else p.sibling_id end as newer_id
        from pair p
        where p.shared >= (p_settings ->> 'shared_tokens')::integer and not exists (
            select from loci_internal.compare_statements(
                case when p.wins then p.sibling_said else p.said end,
                case when p.wins then p.said else p.sibling_said end,
                p.single_valued, (p_settings ->> 'shared_tokens')::integer))
        order by p.shared desc, p.sibling_id desc limit (p_settings ->> 'supersession_model_siblings')::integer
    )
    select n.older_id, n.newer_id from nearest n
    where not exists (select from loci_data.supersession_verdicts v where v.namespace_id = p_namespace_id
                      and (v.older_id, v.newer_id) in ((n.older_id, n.newer_id), (n.newer_id, n.older_id)))
      and not exists (select from loci_data.supersessions s where s.namespace_id = p_namespace_id
                      and (s.older_id, s.newer_id) in ((n.older_id, n.newer_id), (n.newer_id, n.older_id)));
end $$;
comment on function loci_internal.undecided_siblings(integer, uuid, jsonb) is
    'Pairs of an active fact and its siblings on which all signals are silent, and that no model has judged.';

-- Which siblings have most stems in common with a fact? p_limit of them, among the newest p_limit of each stem. A range
-- of the primary key of attribute_terms for each stem. Inlines.
create or replace function loci_internal.siblings_sharing_stems(
    p_namespace_id integer, p_aspect_id uuid, p_attribute_id uuid, p_stems text[], p_limit integer)
returns table (id uuid)
language sql stable parallel safe
as $$
    select t.attribute_id
    from (select distinct hashtextextended('t ' || s.stem, 0) as term from unnest(p_stems) s(stem)) k
    cross join lateral (select a.attribute_id from loci_data.attribute_terms a
                        where a.namespace_id = p_namespace_id and a.aspect_id = p_aspect_id and a.term = k.term
                        order by a.attribute_id desc limit p_limit) t
    where t.attribute_id <> p_attribute_id
    group by t.attribute_id order by count(*) desc, t.attribute_id desc limit p_limit
$$;
comment on function loci_internal.siblings_sharing_stems(integer, uuid, uuid, text[], integer) is
    'Siblings that have most stems in common with a fact.';

-- Which pairs of sibling facts is a model to judge next? Both texts, under what they stand, and since when each is
-- true: the newer is by valid time, which is decided here. supersession_model_pairs of them. Facts that turn out to
-- have no such pair leave the queue. Security definer: past the policies; checks the caller itself. Errors: 42501,
-- P0002.
create or replace function loci_api.pairs_to_judge(p_namespace text)
returns table (older_id uuid, newer_id uuid, entity text, aspect text, single_valued boolean, older text,
               older_from timestamptz, older_to timestamptz, newer text, newer_from timestamptz, newer_to timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'writer');
begin
    return query
    select p.older_id, p.newer_id, e.name, s.name, s.single_valued, o.content, o.valid_from, o.valid_to, n.content,
           n.valid_from, n.valid_to
    from loci_internal.unjudged_fact_pairs(v_ns,
                                           (loci_internal.settings(v_ns) ->> 'supersession_model_pairs')::integer) p
    cross join lateral (select a.* from loci_data.attributes a where a.namespace_id = v_ns
                        and a.id = p.older_id offset 0) o
    cross join lateral (select a.* from loci_data.attributes a where a.namespace_id = v_ns
                        and a.id = p.newer_id offset 0) n
    cross join lateral (select a.* from loci_data.aspects a where a.namespace_id = v_ns
                        and a.id = o.aspect_id offset 0) s
    cross join lateral (select i.* from loci_data.entities i where i.namespace_id = v_ns
                        and i.id = o.entity_id offset 0) e
    order by p.newer_id desc, p.older_id;
end $$;
comment on function loci_api.pairs_to_judge(text) is
    'Pairs of sibling facts on which all signals are silent and that no model has judged yet. Errors: 42501, P0002.';
