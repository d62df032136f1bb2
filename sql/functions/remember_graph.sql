-- The graph part of a write: entities that items state, ends of their edges, mentions, and edges with the memory as evidence.
-- In the transaction of the memories; idempotent per memory (row G4). Called by remember; internal.
create or replace function loci.remember_graph(p_namespace_id integer, p_items jsonb, p_outcomes loci.memory_outcome[], p_at timestamptz)
returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_entities jsonb;
    v_ids      jsonb;
begin
    if not (p_items @? '$[*].entities[*]' or p_items @? '$[*].edges[*]') then
        return;
    end if;
    -- Everything named, in order of appearance: stated entities, then the ends of edges; it dates from the item's valid_from.
    select jsonb_agg(named.entity || jsonb_build_object('seen_at', i.item -> 'valid_from') order by i.ordinal, named.place, named.nth) into v_entities
    from jsonb_array_elements(p_items) with ordinality i(item, ordinal)
    cross join lateral (
        select e.entity, 1 as place, e.nth from jsonb_array_elements(i.item -> 'entities') with ordinality e(entity, nth)
        union all
        select jsonb_build_object('name', e.edge -> 'source'), 2, e.nth
        from jsonb_array_elements(i.item -> 'edges') with ordinality e(edge, nth)
        union all
        select jsonb_build_object('name', e.edge -> 'target'), 3, e.nth
        from jsonb_array_elements(i.item -> 'edges') with ordinality e(edge, nth) where e.edge ->> 'target' is not null
    ) named;
    select jsonb_object_agg(v_entities -> (s.ordinal - 1) ->> 'name', s.id) into v_ids
    from loci.save_entities(p_namespace_id, v_entities, p_at) s;

    perform loci.mention_entities(p_namespace_id, jsonb_agg(jsonb_build_object(
        'memory_id', o.id, 'entity_id', v_ids -> (named.name), 'mention_text', named.name)))
    from jsonb_array_elements(p_items) with ordinality i(item, ordinal)
    join unnest(p_outcomes) o on o.ordinal = i.ordinal - 1
    cross join lateral (
        select e ->> 'name' as name from jsonb_array_elements(i.item -> 'entities') e
        union select e ->> 'source' from jsonb_array_elements(i.item -> 'edges') e
        union select e ->> 'target' from jsonb_array_elements(i.item -> 'edges') e where e ->> 'target' is not null
    ) named;

    perform loci.save_edges(p_namespace_id, jsonb_agg(
        e.edge - 'source' - 'target' || jsonb_build_object(
            'source_id', v_ids -> (e.edge ->> 'source'), 'target_id', v_ids -> (e.edge ->> 'target'),
            'memory_id', o.id, 'session_id', i.item -> 'session_id',
            'observed_at', coalesce(i.item ->> 'valid_from', p_at::text)) order by i.ordinal, e.nth), p_at)
    from jsonb_array_elements(p_items) with ordinality i(item, ordinal)
    join unnest(p_outcomes) o on o.ordinal = i.ordinal - 1
    cross join lateral jsonb_array_elements(i.item -> 'edges') with ordinality e(edge, nth)
    having count(*) > 0;
end $$;
comment on function loci.remember_graph(integer, jsonb, loci.memory_outcome[], timestamptz) is 'Save entities, mentions and edges that written items carry. Internal.';
