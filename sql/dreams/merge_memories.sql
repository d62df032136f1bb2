-- Write the memories that stand for several others, and forget those. What can be reckoned is reckoned here, not by a
-- model: true since the earliest of them, as important and as sure as the most, reinforced as often as all together;
-- tags of all, metadata of all (where they differ, the earliest has its way), merged_from and first_recorded_at in it.
-- What hung on the sources hangs on it (repoint_memory_references). p_merges: [{id, sources: [{id}], content, category,
-- tags}], id
-- of the memory to be. The caller has locked the sources. Errors: those of remember.
create or replace function loci_internal.merge_memories(p_namespace_id integer, p_namespace text, p_merges jsonb)
returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_made jsonb;
begin
    -- at once: who has it together with others cannot have it alone without a deadlock
    perform loci_internal.lock_hierarchy(p_namespace_id, true);
    with source as materialized (
        select (t.step ->> 'id')::uuid as made, t.place, t.step, (i.value ->> 'id')::uuid as id
        from jsonb_array_elements(p_merges) with ordinality t(step, place)
        cross join lateral jsonb_array_elements(t.step -> 'sources') i(value)
    ), known as (
        select s.made, s.place, s.step, m.*, above.parent_id
        from source s
        cross join lateral (select o as row, o.* from loci_data.memories o where o.namespace_id = p_namespace_id
                            and o.id = s.id limit 1) m
        left join lateral (
            select p.parent_id from loci_internal.parent_of(m.row, clock_timestamp(), null) p
            where not exists (select from source x where x.made = s.made and x.id = p.parent_id)) above on true
    ), made as (
        select k.made, k.place, sum(k.observations) as observations, max(k.last_observed_at) as last_observed_at,
               jsonb_build_object(
                   'id', k.made, 'content', k.step ->> 'content', 'layer', min(k.layer),
                   'valid_from', min(k.valid_from), 'valid_to', max(k.valid_to),
                   'category',
                   coalesce(k.step ->> 'category', (array_agg(k.category order by k.recorded_at, k.doc_id))[1]),
                   'tags', (select coalesce(jsonb_agg(t.tag order by t.first), '[]') from (
                                select u.tag, min(u.nth) as first from jsonb_array_elements_text(jsonb_path_query_array(
                                    jsonb_agg(to_jsonb(k.tags) order by k.recorded_at, k.doc_id)
                                        || jsonb_build_array(coalesce(k.step -> 'tags', '[]')), '$[*][*]'))
                                    with ordinality u(tag, nth) group by u.tag order by 2 limit 100) t),
                   'importance', max(k.importance), 'confidence', max(k.confidence),
                   'source', case when count(distinct k.source) = 1
                       and count(k.source) = count(*) then min(k.source) end,
                   'session_id', case when count(distinct k.session_id) = 1
                       and count(k.session_id) = count(*) then min(k.session_id) end,
                   'parent_id',
                   (array_agg(k.parent_id order by k.recorded_at, k.doc_id) filter (where k.parent_id is not null))[1],
                   'metadata',
                   (select coalesce(jsonb_object_agg(e.key, e.value order by e.recorded_at desc, e.doc_id desc), '{}')
                                from known x cross join lateral (select x.recorded_at, x.doc_id, j.*
                                                                 from jsonb_each(x.metadata) j) e where x.made = k.made)
                               || jsonb_build_object('merged_from', jsonb_agg(k.id order by k.recorded_at, k.doc_id),
                                                     'first_recorded_at', min(k.recorded_at))
               ) as item
        from known k group by k.made, k.place, k.step
    )
    select jsonb_agg(to_jsonb(m) order by m.place) into v_made from made m;
    perform count(*) from loci_api.remember(p_namespace, jsonb_path_query_array(v_made, '$[*].item'));
    update loci_data.memories m set observations = t.observations,
        last_observed_at = greatest(t.last_observed_at, m.valid_from)
    from jsonb_to_recordset(v_made) t(made uuid, observations integer, last_observed_at timestamptz)
    where m.namespace_id = p_namespace_id and m.id = t.made;
    perform loci_internal.repoint_memory_references(p_namespace_id, array_agg((i.value ->> 'id')::uuid),
                                                    array_agg((t.step ->> 'id')::uuid))
    from jsonb_array_elements(p_merges) t(step) cross join lateral jsonb_array_elements(t.step -> 'sources') i(value);
    update loci_data.memories m set status = 'forgotten', updated_at = clock_timestamp()
    where m.namespace_id = p_namespace_id and m.id = any (array(
          select (i.value ->> 'id')::uuid from jsonb_array_elements(p_merges) t(step)
          cross join lateral jsonb_array_elements(t.step -> 'sources') i(value)));
end $$;
comment on function loci_internal.merge_memories(integer, text, jsonb) is
    'Write memories that stand for several others, and forget those.';
