-- Guards of passes: which steps are refused, and how many memories may be removed.

-- Which steps of a plan for memories does the database refuse, and why? What the model was shown may have changed while
-- it thought: gone (erased, forgotten, ended), changed (since it was shown). protected: important, or often reinforced;
-- a merge with one such source is refused whole. A merge also for: named (its writer keeps that lineage current by
-- name), layers and validity (the sources differ in them), subjects (they are about different ones, and the text does
-- not name one of these), exists (another memory says it already). One row a refused step; place counts from 0 in its
-- list. The caller has locked the memories.
create or replace function loci_internal.refused_consolidation_steps(p_namespace_id integer, p_plan jsonb)
returns table (action text, place integer, guard text, ids uuid[], reason text)
language sql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
    with asked as (
        select (s ->> 'protected_importance')::double precision as importance,
               (s ->> 'protected_observations')::integer as observations
        from loci_internal.settings(p_namespace_id) s
    ), met as (
        select s.*, coalesce(m.holds, false) as current,
               m.updated_at, m.importance, m.observations, m.layer, m.valid_to,
               m.lineage <> m.lineage_id::text as named,
               loci.canonical_name(m.about) as subject,
               loci_internal.text_with_subject(s.step ->> 'content', m.about) <> s.step ->> 'content' as unnamed
        from loci_internal.read_consolidation_steps(p_plan) s
        left join lateral (select o.*, loci.holds_at(o, clock_timestamp(), null) as holds from loci_data.memories o
                           where o.namespace_id = p_namespace_id and o.id = s.id limit 1) m on true
    ), fault as (
        select m.action, m.place, m.id,
               case when not coalesce(m.current, false) then 'gone' when m.updated_at <> m.seen then 'changed'
                    when m.action <> 'refine' and (m.importance >= a.importance or m.observations >= a.observations)
                        then 'protected'
                    when m.action = 'merge' and m.named then 'named' end as guard
        from met m cross join asked a
    ), step as (
        select m.action, m.place, array_agg(m.id order by m.id) as ids,
               m.action = 'merge' and count(distinct m.layer) > 1 as layers,
               m.action = 'merge' and count(distinct coalesce(m.valid_to, 'infinity')) > 1 as validity,
               m.action = 'merge' and bool_or(m.unnamed) and (count(distinct m.subject) > 1
                                                              or count(m.subject) < count(*)) as subjects,
               m.action = 'merge' and exists (
                   select from loci_data.memories o
                   where o.namespace_id = p_namespace_id
                     and o.content_hash = loci_internal.content_hash((array_agg(m.step ->> 'content'))[1])
                     and o.valid_to is null and o.status = 'active' and o.layer <> 3
                     and o.id <> all (array_agg(m.id))) as said
        from met m group by m.action, m.place
    )
    select s.action, s.place, w.guard, s.ids, loci_internal.explain_refused_step(w.guard, f.id)
    from step s
    left join lateral (select f.id, f.guard from fault f
                       where f.action = s.action and f.place = s.place and f.guard is not null order by f.id limit 1) f
                           on true
    cross join lateral (
        select coalesce(f.guard, case when s.layers then 'layers' when s.validity then 'validity'
                        when s.subjects then 'subjects' when s.said then 'exists' end) as guard) w
    where w.guard is not null
    order by s.action, s.place
$$;
comment on function loci_internal.refused_consolidation_steps(integer, jsonb) is
    'Steps of a plan for memories that rows forbid.';

-- Memories that the steps of a plan are about, one row each. seen: its updated_at when the model was shown
-- it. place counts from 0 in its list. Pure. Inlines.
create or replace function loci_internal.read_consolidation_steps(p_plan jsonb)
returns table (action text, place integer, step jsonb, id uuid, seen timestamptz)
language sql stable parallel safe
as $$
    select a.action, (t.place - 1)::integer, t.step, (i.value ->> 'id')::uuid, (i.value ->> 'seen')::timestamptz
    from (values ('merge', 'merges'), ('delete', 'deletes'), ('refine', 'refinements')) a(action, list)
    cross join lateral jsonb_array_elements(p_plan -> a.list) with ordinality t(step, place)
    cross join lateral jsonb_array_elements(case a.action when 'merge' then t.step -> 'sources'
                                            else jsonb_build_array(t.step) end) i(value)
$$;
comment on function loci_internal.read_consolidation_steps(jsonb) is
    'Memories that the steps of a plan are about.';

-- Why does a guard refuse a step? A sentence for people, about memory p_id or the whole step. Pure.
create or replace function loci_internal.explain_refused_step(p_guard text, p_id uuid) returns text
language sql stable parallel safe
as $$
    select case p_guard
        when 'gone' then format('memory %s is not current any more', p_id)
        when 'changed' then format('memory %s has changed since it was shown', p_id)
        when 'protected' then format('memory %s is protected: it is important, or was reinforced often', p_id)
        when 'named' then format('memory %s is kept current under the name of its lineage', p_id)
        when 'layers' then 'the memories stand on different layers'
        when 'validity' then 'the memories hold until different times'
        when 'subjects' then 'the memories are about different ones'
        when 'exists' then 'another memory says the same already' end
$$;
comment on function loci_internal.explain_refused_step(text, uuid) is
    'Why a guard refuses a step of a plan.';

-- How many memories may end by a model's word at once? dream_removed_share of those that are current. Reads the
-- namespace's memories once. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.removable_memories(p_namespace text) returns bigint
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return loci_internal.removal_limit(v_ns,
                                       (loci_internal.settings(v_ns) ->> 'dream_removed_share')::double precision,
                                       loci_internal.count_current_memories(v_ns));
end $$;
comment on function loci_api.removable_memories(text) is
    'How many memories a model may end at once. Errors: 42501, P0002.';

-- How many memories of a namespace hold now? Reads them once.
create or replace function loci_internal.count_current_memories(p_namespace_id integer) returns bigint
language plpgsql stable set search_path = ''
as $$
declare
    v_now timestamptz := clock_timestamp();
begin
    return (select count(*) from loci_data.memories m
            where m.namespace_id = p_namespace_id and loci.holds_at(m, v_now, null));
end $$;
comment on function loci_internal.count_current_memories(integer) is
    'How many memories of a namespace hold now.';

-- How many of p_of things may a model remove? Their share, rounded down: of ten things at 10 % one, of nine none. More
-- is a mistake of the model or of what it was shown, and the pass applies nothing. p_of counts what is current and in
-- force when the pass applies. Errors: 22023 (a share outside of 0 to 1).
create or replace function loci_internal.removal_limit(p_namespace_id integer, p_share double precision, p_of bigint)
returns bigint
language plpgsql immutable set search_path = ''
as $$
begin
    if p_share is null or not (p_share between 0 and 1) then
        raise invalid_parameter_value using column = 'dream_removed_share',
            message = format('dream_removed_share must be between 0 and 1, not %s', p_share);
    end if;
    return floor(p_share::numeric * greatest(coalesce(p_of, 0), 0))::bigint;  -- numeric: 0.1 of 10 is 1
end $$;
comment on function loci_internal.removal_limit(integer, double precision, bigint) is
    'How many of so many things a pass may remove.';

-- How many of p_of memories, edges or entities may a pass remove? Their share (removal_limit), and where that is less a
-- few (dream_removed_few), but of these at most half. A share of 0 allows none.
create or replace function loci_internal.removal_allowance(p_namespace_id integer, p_of bigint) returns bigint
language sql stable set search_path = ''
as $$
    select case when s.share = 0 then 0
                else greatest(loci_internal.removal_limit(p_namespace_id, s.share, p_of),
                              least(s.few, (greatest(p_of, 0) + 1) / 2)) end
    from (select (t ->> 'dream_removed_share')::double precision as share, (t ->> 'dream_removed_few')::bigint as few
          from loci_internal.settings(p_namespace_id) t) s
$$;
comment on function loci_internal.removal_allowance(integer, bigint) is
    'How many of so many things of a namespace a pass may remove.';

-- How many memories, edges and entities may a pass remove now? It is a share of the current memories, the believed
-- edges, or the existing entities. Reads the namespace's rows once. Security definer: past the policies; checks the
-- caller itself. Errors: 42501, P0002.
create or replace function loci_api.removal_allowances(p_namespace text)
returns table (memories bigint, edges bigint, entities bigint)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    select loci_internal.removal_allowance(v_ns, loci_internal.count_current_memories(v_ns)),
           loci_internal.removal_allowance(v_ns, (
               select count(*) from loci_data.edges e where e.namespace_id = v_ns and e.superseded_at is null)),
           loci_internal.removal_allowance(v_ns, (
               select count(*) from loci_data.entities e where e.namespace_id = v_ns and e.merged_into is null));
end $$;
comment on function loci_api.removal_allowances(text) is
    'How many memories, edges and entities a pass may remove now. Errors: 42501, P0002.';
