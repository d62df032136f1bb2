-- One hop over shared names (row R10): the question names an entity; the best hit that mentions it is a seed, one that begins with the
-- name before all others; other, rare names of that seed lead to the memories that share them. Names in 2 to 30 memories count, by
-- ln(N / df) / df, twice where the memory reached begins with the name: what begins with a name is about it. So a hit that
-- begins with a name of the question counts by itself, by 1. A question that names nothing known, or nothing that a hit mentions,
-- gets nothing: the arm is out of its way (measured in docs/decisions). Index ranges of memory_mentions by memory and by entity.
-- p_documents are the best hits, best first. Called by recall. Errors: 42501, P0002, 22023.
create or replace function loci.linked_memories(
    p_namespace text, p_query text, p_documents bigint[], p_limit integer default null, p_filter jsonb default '{}',
    p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (id uuid, doc_id bigint, score double precision, path text[])
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_ns        integer := loci.authorize(p_namespace, 'reader');
    v_filter    loci.memory_filter := loci.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
    v_limit     integer := coalesce(p_limit, (loci.settings(v_ns) ->> 'depth')::integer);
    v_names     text[];
    v_entities  uuid[];
    v_memories  uuid[];
    v_documents double precision;
begin
    select array_agg(q.name), array_agg(q.entity_id), array_agg(q.memory_id) into v_names, v_entities, v_memories
    from loci.question_names(v_ns, p_query) q;
    if v_names is null then
        return;
    end if;
    select greatest(sum(c.documents), 1) into v_documents from loci_data.corpus_counts c where c.namespace_id = v_ns;
    return query
    with hit as materialized (
        select o.id, h.place, o.opening
        from unnest(p_documents) with ordinality h(doc_id, place)
        cross join lateral (select s.id, loci.fold_characters(left(s.content, 255)) as opening
                            from loci_data.memories s where s.namespace_id = v_ns and s.doc_id = h.doc_id limit 1) o
    ), named as materialized (
        select q.name, h.id, h.place, starts_with(h.opening, q.name) as about
        from unnest(v_names, v_entities, v_memories) q(name, entity_id, memory_id)
        join hit h on h.id = q.memory_id or exists (
             select from loci_data.memory_mentions m where m.namespace_id = v_ns and m.memory_id = h.id and m.entity_id = q.entity_id)
    ), seed as (
        select distinct on (n.name) n.name, n.id, n.place from named n order by n.name, n.about desc, n.place, n.id
    ), bridge as (
        select e.id, e.name, e.canonical_name, sum(1 / sqrt(s.place)) * ln(v_documents / e.mentions) / e.mentions as weight, min(s.name) as named
        from seed s
        join loci_data.memory_mentions m on m.namespace_id = v_ns and m.memory_id = s.id
        join loci_data.entities e on e.namespace_id = v_ns and e.id = m.entity_id
        where e.id <> all (array_remove(v_entities, null)) and e.mentions between 2 and 30 and e.merged_into is null
        group by e.id, e.name, e.canonical_name, e.mentions
    ), found as (
        select m.memory_id, b.weight, array[b.named, b.name] as path, b.canonical_name as name
        from bridge b join loci_data.memory_mentions m on m.namespace_id = v_ns and m.entity_id = b.id
        union all
        select distinct n.id, 1, array[n.name, null], n.name from named n where n.about
    ), reached as (
        select o.id, o.doc_id, f.path, f.weight * case when f.path[2] is not null
                   and starts_with(loci.fold_characters(left(o.content, 2 * length(f.name))), f.name) then 2 else 1 end as weight
        from found f join loci_data.memories o on o.namespace_id = v_ns and o.id = f.memory_id
        where loci.passes(o, v_filter)
    )
    select r.id, r.doc_id, sum(r.weight)::double precision,
           array_remove(array(select unnest((array_agg(r.path order by r.weight desc, r.path))[1:1])), null)
    from reached r group by r.id, r.doc_id
    order by 3 desc, 2 limit v_limit;
end $$;
comment on function loci.linked_memories(text, text, bigint[], integer, jsonb, timestamptz, timestamptz) is 'Memories that share a rare name with the best hit for each entity that the question names. Errors: 42501, P0002, 22023.';
