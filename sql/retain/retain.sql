-- Retain: facts of a text are written or joined.

-- Take in the facts of a text: each becomes a memory, a new version of one, a memory linked to others, or reinforces
-- what is there. Items are those of loci_api.remember, in the order of the text. Decide, hold, apply: decisions are
-- data, taken by rules (decide_facts) or given (p_decisions, see parse_fact_decisions); what they rest on is locked and
-- looked at again, and if it changed, they are taken again. Retains of one namespace take turns, so that two agents who
-- say the same at once make one memory; other writes do not wait for them. One transaction, all or nothing. p_dry_run
-- decides and writes nothing; what would be made has no ids. Errors: 42501, P0002, 22023, 40001 (given decisions that
-- no longer stand).
create or replace function loci_api.retain(p_namespace text, p_items jsonb, p_decisions jsonb default null,
                                           p_dry_run boolean default false)
returns table (ordinal integer, action text, memory_id uuid, lineage text, superseded uuid, target_id uuid, links jsonb,
               confidence double precision, reason text, signal text, unsettled jsonb)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns        integer := loci_internal.authorize(p_namespace, 'writer');
    v_facts     integer := jsonb_array_length(p_items);
    v_at        timestamptz;
    v_decisions loci_api.fact_decision[];
begin
    if v_facts > (loci_internal.settings(v_ns) ->> 'retain_facts')::integer then
        raise invalid_parameter_value using
            column = case when p_items -> 0 ? 'spoken' then 'messages' else 'content' end,
            message = format('the text has %s facts; at most %s are taken in at once (setting retain_facts)', v_facts,
                             loci_internal.settings(v_ns) ->> 'retain_facts');
    end if;
    select min((i.value ->> 'valid_from')::timestamptz) into v_at from jsonb_array_elements(p_items) i;
    if not p_dry_run then
        perform loci_internal.take_turn(v_ns, 'retain');
    end if;
    for v_try in 1 .. 5 loop
        v_decisions := case when p_decisions is null
            then loci_internal.decide_facts(v_ns, v_facts,
                                            array(select k from loci.fact_candidates(p_namespace, p_items) k),
                                            p_items)
            else array(select loci_internal.keep_user_facts_from_assistant(v_ns, p_items, d)
                       from unnest(loci_internal.parse_fact_decisions(v_ns, p_decisions, v_facts)) d
                       order by d.ordinal) end;
        exit when p_dry_run or loci_internal.lock_facts(v_ns, v_decisions, case
                                                        when v_at < clock_timestamp() then v_at end);
        if v_try = 5 or p_decisions is not null then
            raise serialization_failure using message = 'the compared memories changed',
                hint = 'Retry.';
        end if;
    end loop;
    if p_dry_run then
        return query
        select d.ordinal, d.action, case when d.action = 'nothing' then d.target_id end, d.lineage,
               case when d.action = 'update' and d.signal is not null then d.target_id end, d.target_id, d.links,
               d.confidence, d.reason, d.signal, case when d.action = 'nothing' then '[]' else
                   loci_internal.name_unsettled(v_ns, null, loci_internal.doubted_by(d, '{}')) end
        from unnest(v_decisions) d order by d.ordinal;
    else
        return query select a.* from loci_internal.apply_fact_decisions(v_ns, p_namespace, p_items, v_decisions) a
            order by a.ordinal;
    end if;
end $$;
comment on function loci_api.retain(text, jsonb, jsonb, boolean) is
    'Take in the facts of a text (items of loci_api.remember): create, update, link or nothing for each, decided by '
    'rules or as given. One row a fact. Errors: 42501, P0002, 22023, 40001.';

-- Refuse a stated decision that is not about the next fact, has no such action, or the wrong target. Errors: 22023.
create or replace function loci_internal.check_fact_decision(
    p_place integer, p_ordinal integer, p_action text, p_target_id uuid, p_fact integer, p_next integer,
    p_facts integer) returns void
language plpgsql immutable set search_path = ''
as $$
begin
    if p_ordinal is distinct from p_next then
        raise invalid_parameter_value using column = format('decisions.%s.ordinal', p_place),
            message = format('decision %s is about fact %s; one for each of the %s facts is needed',
                             p_place, coalesce(p_ordinal::text, 'none'), p_facts);
    elsif p_action is null or p_action not in ('create', 'update', 'link', 'nothing') then
        raise invalid_parameter_value using column = format('decisions.%s.action', p_place),
            message = format('action %L of decision %s must be create, update, link or nothing', p_action,
                             p_place);
    elsif num_nonnulls(p_target_id, p_fact) <> (p_action <> 'create')::integer
          and (p_action <> 'nothing' or num_nonnulls(p_target_id, p_fact) > 1)
        or p_fact not between 0 and p_ordinal - 1 then
        raise invalid_parameter_value using column = format('decisions.%s.target_id', p_place),
            message = format('decision %s is to %s, which needs %s', p_place, p_action,
                             case p_action when 'create' then 'no target_id'
                                 else 'a target_id, or as fact the number of an earlier one' end);
    end if;
end $$;
comment on function loci_internal.check_fact_decision(integer, integer, text, uuid, integer, integer, integer) is
    'Refuse a stated decision about a fact that cannot be.';

-- Decisions about facts that were taken elsewhere (by a model), checked: one for each fact, an action that there is,
-- and a target where the action needs one (nothing may do without: a question is kept nowhere): a memory of the
-- namespace (target_id), or an earlier fact of the text (fact). Errors: 22023 (names the decision), P0002.
create or replace function loci_internal.parse_fact_decisions(p_namespace_id integer, p_decisions jsonb,
                                                              p_facts integer) returns loci_api.fact_decision[]
language plpgsql stable set search_path = ''
as $$
declare
    v_decisions loci_api.fact_decision[] := '{}';
    v_stated    record;
    v_lineage   text;
begin
    for v_stated in
        select d.*, (u.place - 1)::integer as place
        from jsonb_array_elements(p_decisions) with ordinality u(value, place)
        cross join lateral jsonb_to_record(u.value) d(ordinal integer, action text, target_id uuid, fact integer,
                                                      confidence double precision, reason text, signal text,
                                                      links jsonb, unsettled jsonb)
        order by d.ordinal, place
    loop
        perform loci_internal.check_fact_decision(
            v_stated.place, v_stated.ordinal, v_stated.action, v_stated.target_id, v_stated.fact,
            cardinality(v_decisions), p_facts);
        select m.lineage into v_lineage from loci_data.memories m where m.namespace_id = p_namespace_id
            and m.id = v_stated.target_id;
        if v_stated.target_id is not null and v_lineage is null then
            raise no_data_found using message = format('memory %s does not exist', v_stated.target_id),
                column = format('decisions.%s.target_id', v_stated.place);
        end if;
        v_decisions := v_decisions || (v_stated.ordinal, v_stated.action, v_stated.target_id, v_stated.fact, v_lineage,
                                       coalesce(v_stated.confidence, 1), v_stated.reason,
            v_stated.signal, coalesce(v_stated.links, case when v_stated.action = 'link' then jsonb_build_array(
                jsonb_build_object('target_id', v_stated.target_id, 'fact', v_stated.fact, 'type', 'related_to',
                                   'strength', 0.5)) else '[]' end), coalesce(v_stated.unsettled, '[]')
            )::loci_api.fact_decision;
        v_lineage := null;
    end loop;
    if cardinality(v_decisions) <> p_facts then
        raise invalid_parameter_value using column = 'decisions',
            message = format('there are %s decisions; one for each of the %s facts is needed',
                             cardinality(v_decisions), p_facts);
    end if;
    return v_decisions;
end $$;
comment on function loci_internal.parse_fact_decisions(integer, jsonb, integer) is
    'Decisions about facts that were taken elsewhere, checked.';

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
