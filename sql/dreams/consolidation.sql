-- Consolidation pass: which memories it reads, and how its merges and lessons are written.

-- Leave steps out of a plan of a consolidation, by their places in its lists; each merge that stays gets the id of the
-- memory that it makes.
create or replace function loci_internal.leave_out_steps(p_plan jsonb, p_merges integer[], p_deletes integer[],
                                                         p_refinements integer[]) returns jsonb
language sql volatile set search_path = ''
return p_plan || jsonb_build_object(
    'merges', (select coalesce(jsonb_agg(s.step || jsonb_build_object('id', loci_api.uuid7()) order by s.place), '[]')
               from jsonb_array_elements(p_plan -> 'merges') with ordinality s(step, place)
               where s.place - 1 <> all (p_merges) is not false),
    'deletes', (select coalesce(jsonb_agg(s.step order by s.place), '[]')
                from jsonb_array_elements(p_plan -> 'deletes') with ordinality s(step, place)
                where s.place - 1 <> all (p_deletes) is not false),
    'refinements', (select coalesce(jsonb_agg(s.step order by s.place), '[]')
                    from jsonb_array_elements(p_plan -> 'refinements') with ordinality s(step, place)
                    where s.place - 1 <> all (p_refinements) is not false));
comment on function loci_internal.leave_out_steps(jsonb, integer[], integer[], integer[]) is
    'Plan of a consolidation without some of its steps.';

-- List what a plan of a consolidation does: merges, deletions, refinements, in order.
create or replace function loci_internal.list_consolidation_changes(p_plan jsonb) returns jsonb
language sql stable set search_path = ''
as $$
    select coalesce(jsonb_agg(c.change order by c.list, c.place), '[]') from (
        select 1 as list, t.place, jsonb_build_object('action', 'merge',
                                                      'ids', jsonb_path_query_array(t.step, '$.sources[*].id'),
                                                      'into', t.step -> 'id') as change
        from jsonb_array_elements(p_plan -> 'merges') with ordinality t(step, place)
        union all
        select 2, t.place, jsonb_build_object('action', 'delete', 'ids', jsonb_build_array(t.step -> 'id'),
                                              'why', t.step -> 'reason')
        from jsonb_array_elements(p_plan -> 'deletes') with ordinality t(step, place)
        union all
        select 3, t.place, jsonb_build_object('action', 'refine', 'ids', jsonb_build_array(t.step -> 'id'))
        from jsonb_array_elements(p_plan -> 'refinements') with ordinality t(step, place)) c
$$;
comment on function loci_internal.list_consolidation_changes(jsonb) is
    'Changes that a plan of a consolidation makes.';

-- Count how many memories fewer a plan of a consolidation leaves: deletions, and the sources of each merge less one.
-- Pure.
create or replace function loci_internal.count_removed(p_plan jsonb) returns bigint
language sql immutable set search_path = ''
return jsonb_array_length(p_plan -> 'deletes')
       + (select coalesce(sum(jsonb_array_length(m -> 'sources') - 1), 0)
          from jsonb_array_elements(p_plan -> 'merges') m);
comment on function loci_internal.count_removed(jsonb) is
    'How many memories fewer a plan of a consolidation leaves.';

-- Lock the memories that a plan of a consolidation names, in order of id.
create or replace function loci_internal.lock_planned_memories(p_namespace_id integer, p_plan jsonb) returns void
language plpgsql volatile set search_path = ''
as $$
begin
    perform from loci_data.memories m
    where m.namespace_id = p_namespace_id and m.id = any (array(
          select (i #>> '{}')::uuid from (select jsonb_path_query(p_plan, '$.merges[*].sources[*].id') union all
                                          select jsonb_path_query(p_plan, '$.*[*].id')) x(i)))
    order by m.id for no key update;
end $$;
comment on function loci_internal.lock_planned_memories(integer, jsonb) is
    'Lock the memories that a plan of a consolidation names.';

-- Apply what of a consolidation stood up to the guards of texts: merges, deletes, refinements, and lessons from
-- signals. All in one transaction, which is one operation: undoing it brings every source back. Removed memories are
-- forgotten, never deleted. The rows have the last word (refused_consolidation_steps). Removed are what is deleted and
-- what merges make fewer, against all current memories: more of them than a pass may remove (removal_allowance), and
-- nothing at all is applied and stopped says why; one memory fewer by a merge is always allowed, since what it said is
-- kept. p_plan: {merges: [{sources: [{id, seen}], content, category, tags}], deletes: [{id, seen, reason}],
-- refinements: [{id, seen, category, tags}], lessons: [{content, category, tags, signals: [id]}]}; seen: updated_at as
-- shown. Locks the memories in order of id. Security definer: past the policies; checks the caller itself. Errors:
-- 42501, P0002, and those of remember.
create or replace function loci_api.apply_consolidation(p_namespace text, p_plan jsonb)
returns table (changes jsonb, refused jsonb, stopped text)
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_ns        integer := loci_internal.authorize(p_namespace, 'writer');
    v_plan      jsonb := '{"merges": [], "deletes": [], "refinements": [], "lessons": []}'::jsonb || p_plan;
    v_current   bigint;
    v_allowed   bigint;
    v_removed   bigint;
begin
    perform loci_internal.lock_planned_memories(v_ns, v_plan);
    select coalesce(
        jsonb_agg(jsonb_build_object('guard', r.guard, 'action', r.action, 'ids', r.ids, 'reason', r.reason)
                  order by r.action, r.place), '[]'),
           loci_internal.leave_out_steps(v_plan, array_agg(r.place) filter (where r.action = 'merge'),
                                         array_agg(r.place) filter (where r.action = 'delete'),
                                         array_agg(r.place) filter (where r.action = 'refine'))
    into refused, v_plan from loci_internal.refused_consolidation_steps(v_ns, v_plan) r;

    v_removed := loci_internal.count_removed(v_plan);
    v_current := loci_internal.count_current_memories(v_ns);
    v_allowed := loci_internal.removal_allowance(v_ns, v_current);
    if v_removed > greatest(v_allowed, case when jsonb_array_length(v_plan -> 'deletes') = 0 then 1 else 0 end) then
        changes := '[]';
        stopped := format('it would have removed %s of %s memories; the setting dream_removed_share allows %s of them',
                          v_removed, v_current, v_allowed);
        return next;
        return;
    end if;

    if v_plan -> 'merges' <> '[]' then
        perform loci_internal.merge_memories(v_ns, p_namespace, v_plan -> 'merges');
    end if;
    update loci_data.memories m set status = 'forgotten', updated_at = clock_timestamp()
    where m.namespace_id = v_ns
      and m.id = any (array(select (d ->> 'id')::uuid from jsonb_array_elements(v_plan -> 'deletes') d));
    update loci_data.memories m
    set category = coalesce(r.category, m.category), tags = coalesce(r.tags, m.tags), updated_at = clock_timestamp()
    from jsonb_to_recordset(v_plan -> 'refinements') r(id uuid, category text, tags text[])
    where m.namespace_id = v_ns
      and m.id = any (array(select (x ->> 'id')::uuid from jsonb_array_elements(v_plan -> 'refinements') x))
      and m.id = r.id;
    changes := loci_internal.list_consolidation_changes(v_plan)
        || loci_internal.write_lessons(v_ns, p_namespace, v_plan -> 'lessons');
    return next;
end $$;
comment on function loci_api.apply_consolidation(text, jsonb) is
    'Apply a plan for memories: merges, deletes, refinements, lessons; what changed, what rows forbade, and why '
    'nothing was done. Errors: 42501, P0002.';

-- Write what signals teach as memories (anti-patterns/{domain}), each linked to the memories that its signals
-- are about, so that erasing one of those takes it along. A text that a memory says already reinforces it.
-- p_lessons: [{content, category, tags, signals: [id]}]. Returns [{action, ids, into}]. Errors: those of remember.
create or replace function loci_internal.write_lessons(p_namespace_id integer, p_namespace text, p_lessons jsonb)
returns jsonb
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_written jsonb;
begin
    if p_lessons = '[]' then
        return '[]';
    end if;
    select jsonb_agg(l.step || jsonb_build_object('id', r.id, 'new', not r.duplicate) order by l.place) into v_written
    from loci_api.remember(p_namespace, (
             select jsonb_agg(jsonb_build_object('content', s.step -> 'content', 'category', s.step -> 'category',
                                                 'tags', s.step -> 'tags',
                                                 'metadata',
                                                 jsonb_build_object('source', 'dream', 'signals', s.step -> 'signals'))
                                                     order by s.place)
             from jsonb_array_elements(p_lessons) with ordinality s(step, place))) r
    join jsonb_array_elements(p_lessons) with ordinality l(step, place) on l.place = r.ordinal + 1;
    insert into loci_data.memory_links (namespace_id, source_id, target_id, type, strength, recorded_at)
    select distinct p_namespace_id, n.lineage_id, t.lineage_id, 'derived_from', 1.0::double precision, n.recorded_at
    from jsonb_array_elements(v_written) w
    cross join lateral jsonb_array_elements_text(w -> 'signals') g(id)
    cross join lateral (select s.memory_id from loci_data.feedback_signals s where s.namespace_id = p_namespace_id
                        and s.id = g.id::uuid limit 1) s
    cross join lateral (select o.lineage_id, clock_timestamp() as recorded_at from loci_data.memories o
                        where o.namespace_id = p_namespace_id and o.id = (w ->> 'id')::uuid limit 1) n
    cross join lateral (select o.lineage_id from loci_data.memories o where o.namespace_id = p_namespace_id
                        and o.id = s.memory_id limit 1) t
    where n.lineage_id <> t.lineage_id
    on conflict do nothing;
    return (select jsonb_agg(jsonb_build_object('action', 'learn', 'ids', w -> 'signals', 'into', w -> 'id')
                             order by w ->> 'id') from jsonb_array_elements(v_written) w);
end $$;
comment on function loci_internal.write_lessons(integer, text, jsonb) is
    'Write what feedback signals teach.';

-- What is a consolidation shown? Current memories of layers 1 and 2: concepts and facts; domains stand for themselves,
-- and episodes are events, of which none is another's duplicate. Where there are more than dream_limit, half of them
-- are the newest; the rest is the next stretch of all others, in order of category, so that what is alike is seen
-- together: another stretch whenever dream_unchanged_days are over, so that in time everything is seen. kept: no pass
-- may remove it. content: with its subject in front (text_with_subject). Reads the namespace's memories once. Security
-- definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.memories_to_consolidate(p_namespace text,
                                                            p_at timestamptz default clock_timestamp())
returns table (id uuid, content text, category text, tags text[], importance double precision, kept boolean,
               created_at timestamptz, updated_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'reader');
    v_settings jsonb := loci_internal.settings(v_ns);
    v_limit    bigint := (v_settings ->> 'dream_limit')::bigint;
    v_stretch  bigint := case when isfinite(p_at) then
        floor(extract(epoch from p_at) / (86400 * greatest((v_settings ->> 'dream_unchanged_days')::numeric, 1)))
            else 0 end;
begin
    return query
    with shown as materialized (
        select m.id, m.category, m.recorded_at, m.doc_id, count(*) over () as total,
               row_number() over (order by m.recorded_at desc, m.doc_id desc) as nth
        from loci_data.memories m
        where m.namespace_id = v_ns and m.layer in (1, 2) and loci.holds_at(m, p_at, null)
    ), older as (
        select s.id, s.total - (v_limit + 1) / 2 as total,
               row_number() over (order by s.category, s.doc_id) - 1 as place
        from shown s where s.total > v_limit and s.nth > (v_limit + 1) / 2
    ), picked as (
        select s.id from shown s where s.total <= v_limit or s.nth <= (v_limit + 1) / 2
        union all
        select o.id from older o
        where o.place / nullif(v_limit / 2, 0) = v_stretch % nullif(
            (o.total + v_limit / 2 - 1) / nullif(v_limit / 2, 0), 0)
    )
    select m.id, loci_internal.text_with_subject(m.content, m.about), m.category, m.tags, m.importance,
           m.importance >= (v_settings ->> 'protected_importance')::double precision
           or m.observations >= (v_settings ->> 'protected_observations')::integer,
           m.recorded_at, m.updated_at
    from picked p
    cross join lateral (select o.* from loci_data.memories o where o.namespace_id = v_ns and o.id = p.id limit 1) m
    order by m.category, m.doc_id;
end $$;
comment on function loci_api.memories_to_consolidate(text, timestamptz) is
    'Memories that a consolidation is shown. Errors: 42501, P0002.';
