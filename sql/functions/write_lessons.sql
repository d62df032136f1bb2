-- Write what signals teach as memories (anti-patterns/{domain}, seed B), each linked to the memories that its signals are about, so that
-- erasing one of those takes it along. What a memory says already is reinforced, not written again.
-- p_lessons: [{content, category, tags, signals: [id]}]. Returns [{action, ids, into}]. Called by apply_consolidation; internal. Errors: those of remember.
create or replace function loci.write_lessons(p_namespace_id integer, p_namespace text, p_lessons jsonb) returns jsonb
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_written jsonb;
begin
    if p_lessons = '[]' then
        return '[]';
    end if;
    select jsonb_agg(l.step || jsonb_build_object('id', r.id, 'new', not r.duplicate) order by l.place) into v_written
    from loci.remember(p_namespace, (
             select jsonb_agg(jsonb_build_object('content', s.step -> 'content', 'category', s.step -> 'category', 'tags', s.step -> 'tags',
                                                 'metadata', jsonb_build_object('source', 'dream', 'signals', s.step -> 'signals')) order by s.place)
             from jsonb_array_elements(p_lessons) with ordinality s(step, place))) r
    join jsonb_array_elements(p_lessons) with ordinality l(step, place) on l.place = r.ordinal + 1;
    insert into loci_data.memory_links (namespace_id, source_id, target_id, type, strength, recorded_at)
    select distinct p_namespace_id, n.lineage_id, t.lineage_id, 'derived_from', 1.0::double precision, n.recorded_at
    from jsonb_array_elements(v_written) w
    cross join lateral jsonb_array_elements_text(w -> 'signals') g(id)
    cross join lateral (select s.memory_id from loci_data.feedback_signals s where s.namespace_id = p_namespace_id and s.id = g.id::uuid limit 1) s
    cross join lateral (select o.lineage_id, clock_timestamp() as recorded_at from loci_data.memories o where o.namespace_id = p_namespace_id and o.id = (w ->> 'id')::uuid limit 1) n
    cross join lateral (select o.lineage_id from loci_data.memories o where o.namespace_id = p_namespace_id and o.id = s.memory_id limit 1) t
    where n.lineage_id <> t.lineage_id
    on conflict do nothing;
    return (select jsonb_agg(jsonb_build_object('action', 'learn', 'ids', w -> 'signals', 'into', w -> 'id') order by w ->> 'id') from jsonb_array_elements(v_written) w);
end $$;
comment on function loci.write_lessons(integer, text, jsonb) is 'Write what feedback signals teach. Internal.';
