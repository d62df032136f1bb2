-- What should an agent know before anybody has asked anything? The most important memories that are visible at the two
-- times, but for those of p_without, the newest of equal ones first: document numbers. Importance is the present one.
-- Walks down the index memories_importance until p_limit of them pass; bounded: 20,000 rows, so that a long history of
-- superseded versions costs some 20 ms at most.
create or replace function loci_internal.most_important_memories(
    p_namespace_id integer, p_limit integer, p_as_of timestamptz default null, p_known_at timestamptz default null,
    p_without bigint[] default '{}')
returns bigint[]
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
set enable_sort = off
as $$
declare
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(p_namespace_id, '{}', p_as_of, p_known_at);
begin
    return array(
        select w.doc_id
        from (select m as memory, m.importance, m.doc_id from loci_data.memories m
              where m.namespace_id = p_namespace_id and m.importance >= 0  -- the index's condition
              order by m.importance desc, m.doc_id desc limit 20000) w
        where w.doc_id <> all (p_without) and loci_internal.memory_is_visible(w.memory, v_filter)
        order by w.importance desc, w.doc_id desc limit p_limit);
end $$;
comment on function loci_internal.most_important_memories(integer, integer, timestamptz, timestamptz, bigint[]) is
    'Most important visible memories but for some, newest of equal ones first.';
