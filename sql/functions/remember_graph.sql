-- The graph part of a write: entities that items state, and edges, with the memory as evidence of both, in its session if it has one.
-- In the transaction of the memories; idempotent per memory (row G4). Called by remember; internal.
create or replace function loci.remember_graph(p_namespace_id integer, p_items jsonb, p_outcomes loci.memory_outcome[], p_at timestamptz)
returns void
language plpgsql volatile set search_path = ''
as $$
begin
    if not (p_items @? '$[*].entities[*] ? (@ != null)' or p_items @? '$[*].edges[*] ? (@ != null)') then
        return;
    end if;
    perform count(*) from loci.save_entities(p_namespace_id, (
        select jsonb_agg(e.entity || jsonb_build_object('memory_id', o.id, 'session_id', i.item -> 'session_id',
                                                        'seen_at', i.item -> 'valid_from') order by i.ordinal, e.nth)
        from jsonb_array_elements(p_items) with ordinality i(item, ordinal)
        join unnest(p_outcomes) o on o.ordinal = i.ordinal - 1
        cross join lateral jsonb_array_elements(nullif(i.item -> 'entities', 'null')) with ordinality e(entity, nth)), p_at)
    where p_items @? '$[*].entities[*] ? (@ != null)';

    perform count(*) from loci.write_edges(p_namespace_id, loci.parse_edges((
        select jsonb_agg(e.edge || jsonb_build_object(
            'memory_id', o.id, 'session_id', i.item -> 'session_id', 'observed_at', coalesce(i.item ->> 'valid_from', p_at::text)) order by i.ordinal, e.nth)
        from jsonb_array_elements(p_items) with ordinality i(item, ordinal)
        join unnest(p_outcomes) o on o.ordinal = i.ordinal - 1
        cross join lateral jsonb_array_elements(nullif(i.item -> 'edges', 'null')) with ordinality e(edge, nth)), p_at), p_at)
    where p_items @? '$[*].edges[*] ? (@ != null)';
end $$;
comment on function loci.remember_graph(integer, jsonb, loci.memory_outcome[], timestamptz) is 'Save entities, mentions and edges that written items carry. Internal.';
