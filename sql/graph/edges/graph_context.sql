-- What does the graph know about a message? Two phases: match the entities that the text names, then walk from them,
-- breadth first, up to p_max_hops, of each entity what matters most first; the first p_limit edges found (null:
-- settings max_hops, context_triples). One row: entities as match_entities finds them, edges as traverse does, and
-- rendered, the lines that go before an inference, null where there is no edge. truncated says what ended the walk.
-- Touching the entities is touch_entities' business. Cost: that of match_entities and traverse, which do the work
-- and check for themselves. Security definer: reads the namespace's settings; checks the caller itself. Errors:
-- 42501, P0002, 22023.
create or replace function loci.graph_context(
    p_namespace text, p_text text, p_max_hops integer default null, p_limit integer default null,
    p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (entities jsonb, edges jsonb, rendered text, truncated text[])
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_start        text[];
begin
    select coalesce(jsonb_agg(to_jsonb(m) order by m.position, m.id), '[]'),
           array_agg(m.id::text order by m.position, m.id)
    into entities, v_start
    from (select f.* from loci.match_entities(p_namespace, p_text, p_as_of, p_known_at) f
          order by f.position, f.id limit 1000) m;
    select coalesce(jsonb_agg(to_jsonb(t) - '{path,score,ordinal,truncated}'::text[] order by t.ordinal), '[]'),
           E'Related knowledge graph connections:\n'
           || string_agg('- ' || loci.triple(t.source, t.type, t.target, t.literal, t.confidence), E'\n'
                         order by t.ordinal),
           max(t.truncated)
    into edges, rendered, truncated
    from loci.traverse(p_namespace, v_start, p_max_hops => p_max_hops,
                       p_limit =>
                           coalesce(p_limit, (loci_internal.settings(v_namespace_id) ->> 'context_triples')::integer),
                       p_as_of => p_as_of, p_known_at => p_known_at, p_text => '',
                       p_question => p_text) t;
    return next;
end $$;
comment on function loci.graph_context(text, text, integer, integer, timestamptz, timestamptz) is
    'Entities that a text names, the edges around them, and the lines that show these to a model. Errors: 42501, '
    'P0002, 22023.';
