-- Apply what of a consolidation stood up to the guards of texts (rows L4, L5): merges, deletes, refinements, and lessons from signals. All in one
-- transaction, which is one operation: undoing it brings every source back. What is removed is forgotten, never deleted.
-- The rows have the last word (refuse_steps). Removed are what is deleted and what merges make fewer, against all current memories: more
-- than dream_removed_share of them, and nothing at all is applied and stopped says why; one memory fewer by a merge is always allowed, since
-- what it said is kept.
-- p_plan: {merges: [{sources: [{id, seen}], content, category, tags}], deletes: [{id, seen, reason}], refinements: [{id, seen, category, tags}],
-- lessons: [{content, category, tags, signals: [id]}]}; seen: updated_at as shown. Locks the memories in order of id. Security definer:
-- past the policies; checks the caller itself. Called by the pass. Errors: 42501, P0002, and those of remember.
create or replace function loci.apply_consolidation(p_namespace text, p_plan jsonb) returns table (changes jsonb, refused jsonb, stopped text)
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_ns        integer := loci.authorize(p_namespace, 'writer');
    v_plan      jsonb := '{"merges": [], "deletes": [], "refinements": [], "lessons": []}'::jsonb || p_plan;
    v_share     double precision := (loci.settings(v_ns) ->> 'dream_removed_share')::double precision;
    v_current   bigint;
    v_removed   bigint;
begin
    perform from loci_data.memories m
    where m.namespace_id = v_ns and m.id = any (array(
          select (i #>> '{}')::uuid from (select jsonb_path_query(v_plan, '$.merges[*].sources[*].id') union all select jsonb_path_query(v_plan, '$.*[*].id')) x(i)))
    order by m.id for no key update;
    select coalesce(jsonb_agg(jsonb_build_object('guard', r.guard, 'action', r.action, 'ids', r.ids, 'reason', r.reason) order by r.action, r.place), '[]'),
           v_plan || jsonb_build_object(
               'merges', (select coalesce(jsonb_agg(s.step || jsonb_build_object('id', loci.uuid7()) order by s.place), '[]')
                          from jsonb_array_elements(v_plan -> 'merges') with ordinality s(step, place)
                          where s.place - 1 <> all (array_agg(r.place) filter (where r.action = 'merge')) is not false),
               'deletes', (select coalesce(jsonb_agg(s.step order by s.place), '[]') from jsonb_array_elements(v_plan -> 'deletes') with ordinality s(step, place)
                           where s.place - 1 <> all (array_agg(r.place) filter (where r.action = 'delete')) is not false),
               'refinements', (select coalesce(jsonb_agg(s.step order by s.place), '[]') from jsonb_array_elements(v_plan -> 'refinements') with ordinality s(step, place)
                               where s.place - 1 <> all (array_agg(r.place) filter (where r.action = 'refine')) is not false))
    into refused, v_plan from loci.refuse_steps(v_ns, v_plan) r;

    v_removed := jsonb_array_length(v_plan -> 'deletes')
        + (select coalesce(sum(jsonb_array_length(m -> 'sources') - 1), 0) from jsonb_array_elements(v_plan -> 'merges') m);
    select count(*) into v_current from loci_data.memories m
    where m.namespace_id = v_ns and m.status = 'active' and m.valid_from <= clock_timestamp() and (m.valid_to is null or m.valid_to > clock_timestamp());
    if v_removed > greatest(loci.removal_limit(v_ns, v_share, v_current), case when jsonb_array_length(v_plan -> 'deletes') = 0 then 1 else 0 end) then
        changes := '[]';
        stopped := format('it would have removed %s of %s memories; the setting dream_removed_share allows %s of them (%s %%)',
                          v_removed, v_current, loci.removal_limit(v_ns, v_share, v_current), 100 * v_share::numeric);
        return next;
        return;
    end if;

    if v_plan -> 'merges' <> '[]' then
        perform loci.merge_memories(v_ns, p_namespace, v_plan -> 'merges');
    end if;
    update loci_data.memories m set status = 'forgotten', updated_at = clock_timestamp()
    where m.namespace_id = v_ns and m.id = any (array(select (d ->> 'id')::uuid from jsonb_array_elements(v_plan -> 'deletes') d));
    update loci_data.memories m
    set category = coalesce(r.category, m.category), tags = coalesce(r.tags, m.tags), updated_at = clock_timestamp()
    from jsonb_to_recordset(v_plan -> 'refinements') r(id uuid, category text, tags text[])
    where m.namespace_id = v_ns and m.id = any (array(select (x ->> 'id')::uuid from jsonb_array_elements(v_plan -> 'refinements') x)) and m.id = r.id;
    changes := (
        select coalesce(jsonb_agg(c.change order by c.list, c.place), '[]') from (
            select 1 as list, t.place, jsonb_build_object('action', 'merge', 'ids', jsonb_path_query_array(t.step, '$.sources[*].id'), 'into', t.step -> 'id') as change
            from jsonb_array_elements(v_plan -> 'merges') with ordinality t(step, place)
            union all
            select 2, t.place, jsonb_build_object('action', 'delete', 'ids', jsonb_build_array(t.step -> 'id'), 'why', t.step -> 'reason')
            from jsonb_array_elements(v_plan -> 'deletes') with ordinality t(step, place)
            union all
            select 3, t.place, jsonb_build_object('action', 'refine', 'ids', jsonb_build_array(t.step -> 'id'))
            from jsonb_array_elements(v_plan -> 'refinements') with ordinality t(step, place)) c)
        || loci.write_lessons(v_ns, p_namespace, v_plan -> 'lessons');
    return next;
end $$;
comment on function loci.apply_consolidation(text, jsonb) is 'Apply a plan for memories: merges, deletes, refinements, lessons; what changed, what rows forbade, and why nothing was done. Errors: 42501, P0002.';
