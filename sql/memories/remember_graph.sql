-- The graph part of a write: entities that items state or are about, and edges, with the memory as evidence of both, in
-- its session if it has one. In the transaction of the memories; idempotent per memory.
create or replace function loci_internal.remember_graph(p_namespace_id integer, p_items jsonb,
                                                        p_outcomes loci_internal.memory_outcome[], p_at timestamptz)
returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_ids uuid[];  -- of the memories, in the order of the items
begin
    if not (p_items @? '$[*].entities[*] ? (@ != null)' or p_items @? '$[*].edges[*] ? (@ != null)'
            or p_items @? '$[*].about ? (@ != null)') then
        return;
    end if;
    v_ids := array(select o.id from unnest(p_outcomes) o order by o.ordinal);
    perform count(*) from loci_internal.save_entities(p_namespace_id, (
        select jsonb_agg(e.entity || jsonb_build_object('memory_id', v_ids[i.ordinal], 'session_id',
                                                        i.item -> 'session_id', 'seen_at', i.item -> 'valid_from')
                         order by i.ordinal, e.nth)
        from jsonb_array_elements(p_items) with ordinality i(item, ordinal)
        cross join lateral (
            select * from jsonb_array_elements(nullif(i.item -> 'entities', 'null')) with ordinality
            union all
            select jsonb_build_object('name', loci_internal.name_subject(p_namespace_id, i.item) -> 'about'), 0
            where i.item ->> 'about' is not null) e(entity, nth)),
        p_at)
    where p_items @? '$[*].entities[*] ? (@ != null)' or p_items @? '$[*].about ? (@ != null)';

    perform count(*) from loci_internal.write_edges(p_namespace_id, loci_internal.parse_edges(
        loci_internal.date_stated_edges(p_namespace_id, p_items, v_ids, p_at), p_at), p_at)
    where p_items @? '$[*].edges[*] ? (@ != null)';
end $$;
comment on function loci_internal.remember_graph(integer, jsonb, loci_internal.memory_outcome[], timestamptz) is
    'Save entities, mentions and edges that written items carry.';

-- The edges that items state, as a write of edges takes them. An edge holds when the memory does, where that states a
-- time. It was observed when it says so, else when an episode was, else now: a fact about 1980 that is told today was
-- observed today. A look-up by id for each item that states edges, planned for any namespace.
create or replace function loci_internal.date_stated_edges(p_namespace_id integer, p_items jsonb, p_ids uuid[],
                                                           p_at timestamptz) returns jsonb
language plpgsql stable set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
begin
    return (
    select jsonb_agg(e.edge || jsonb_build_object(
        'memory_id', p_ids[i.ordinal], 'session_id', i.item -> 'session_id',
        'observed_at', coalesce(e.edge ->> 'observed_at', case when m.layer = 3 then m.valid_from else p_at end::text),
        'valid_from', coalesce(e.edge ->> 'valid_from', case when s.dated then m.valid_from end::text),
        'valid_to', coalesce(e.edge ->> 'valid_to', i.item ->> 'valid_to',
                             case when i.item ->> 'corrects' is not null then m.valid_to end::text)
        ) order by i.ordinal, e.nth)
    from jsonb_array_elements(p_items) with ordinality i(item, ordinal)
    cross join lateral (select num_nonnulls(i.item ->> 'valid_from', i.item ->> 'valid_to',
                                            i.item ->> 'corrects') > 0 as dated) s
    cross join lateral jsonb_array_elements(nullif(i.item -> 'edges', 'null')) with ordinality e(edge, nth)
    cross join lateral (select w.layer, w.valid_from, w.valid_to from loci_data.memories w
                        where w.namespace_id = p_namespace_id and w.id = p_ids[i.ordinal] limit 1) m);
end $$;
comment on function loci_internal.date_stated_edges(integer, jsonb, uuid[], timestamptz) is
    'Edges that items state, with their memories and times.';
