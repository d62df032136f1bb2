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
    ), stated as materialized (
        select a.action, (t.place - 1)::integer as place, t.step,
               (i.value ->> 'id')::uuid as id, (i.value ->> 'seen')::timestamptz as seen
        from (values ('merge', 'merges'), ('delete', 'deletes'), ('refine', 'refinements')) a(action, list)
        cross join lateral jsonb_array_elements(p_plan -> a.list) with ordinality t(step, place)
        cross join lateral jsonb_array_elements(case a.action when 'merge' then t.step -> 'sources'
                                                else jsonb_build_array(t.step) end) i(value)
    ), met as (
        select s.*, coalesce(m.holds, false) as current,
               m.updated_at, m.importance, m.observations, m.layer, m.valid_to,
               m.lineage <> m.lineage_id::text as named,
               loci.canonical_name(m.about) as subject,
               loci_internal.text_with_subject(s.step ->> 'content', m.about) <> s.step ->> 'content' as unnamed
        from stated s
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
    select s.action, s.place, w.guard, s.ids, w.reason
    from step s
    left join lateral (select f.id, f.guard from fault f
                       where f.action = s.action and f.place = s.place and f.guard is not null order by f.id limit 1) f
                           on true
    cross join lateral (
        select coalesce(f.guard, case when s.layers then 'layers' when s.validity then 'validity'
                        when s.subjects then 'subjects' when s.said then 'exists' end) as guard,
               case f.guard when 'gone' then format('memory %s is not current any more', f.id)
                            when 'changed' then format('memory %s has changed since it was shown', f.id)
                            when 'protected'
                                then format('memory %s is protected: it is important, or was reinforced often', f.id)
                            when 'named' then format('memory %s is kept current under the name of its lineage', f.id)
                            else case when s.layers then 'the memories stand on different layers'
                                      when s.validity then 'the memories hold until different times'
                                      when s.subjects then 'the memories are about different ones'
                                      when s.said then 'another memory says the same already' end end as reason) w
    where w.guard is not null
    order by s.action, s.place
$$;
comment on function loci_internal.refused_consolidation_steps(integer, jsonb) is
    'Steps of a plan for memories that rows forbid.';
