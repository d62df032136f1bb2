-- Write what a model has read out of conversations and episodes (row L4, seeds A, C, D), and refuse what the rows forbid. p_plan:
--   entities  [{key, id? | name, type?, aliases?, description?, evidence}]   key: what edges call it; evidence []: named only as an end
--   edges     [{source, type, target | literal, confidence, evidence}]       source, target: keys
--   evidence  [{session_id? | memory_id?, at}]                               conversations and memories that say so, and when it was said
-- Through save_entities and write_edges: a known name makes no second entity, a new conversation restores, the same one counts (row G9),
-- a memory counts once (row G4). One row an item: kind, its place in the plan from 1, id, whether it is new; or the guard that refused it:
-- short, gone, end (an end was refused), loop (both ends are one entity). In the caller's transaction.
-- Security definer: writes past the policies; checks the caller itself. Called by the extraction of entities. Errors: 42501, P0002, 22023, 23503, 40001.
create or replace function loci.apply_extraction(p_namespace text, p_plan jsonb)
returns table (kind text, place integer, id uuid, created boolean, guard text)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns    integer := loci.authorize(p_namespace, 'writer');
    v_at    timestamptz := clock_timestamp();
    v_named jsonb := (select coalesce(jsonb_agg(to_jsonb(x) order by x.ordinal), '[]')
                      from loci.extracted_entities(v_ns, coalesce(p_plan -> 'entities', '[]')) x);
    v_items jsonb;
    v_saved jsonb;
    v_ids   jsonb;  -- ids by key
    v_edges jsonb;
begin
    select jsonb_agg(jsonb_build_object('place', n.ordinal, 'name', n.name, 'session_id', v.session_id, 'memory_id', v.memory_id, 'seen_at', v.at) || n.stated
                     order by n.ordinal, v.at, v.session_id, v.memory_id) into v_items
    from jsonb_to_recordset(v_named) n(ordinal integer, name text, stated jsonb, evidence jsonb, guard text)
    cross join lateral jsonb_to_recordset(n.evidence) v(session_id text, memory_id uuid, at timestamptz)
    where n.guard is null;
    select jsonb_object_agg(i.place, i.saved) into v_saved
    from (select v_items -> (s.ordinal - 1) ->> 'place' as place,
                 jsonb_build_object('id', (array_agg(s.id))[1], 'created', bool_or(s.created)) as saved
          from loci.save_entities(v_ns, coalesce(v_items, '[]'), v_at) s group by 1) i;
    select jsonb_object_agg(n.key, coalesce(v_saved -> n.ordinal::text ->> 'id', n.id)) into v_ids
    from jsonb_to_recordset(v_named) n(ordinal integer, key integer, id text, guard text) where n.guard is null;

    select coalesce(jsonb_agg(to_jsonb(p) order by p.place), '[]') into v_edges
    from (select e.place, e.source, e.type, e.target, e.literal, e.confidence, e.evidence,
                 case when e.source is null or e.named and e.target is null then 'end' when e.source = e.target then 'loop'
                      when e.evidence = '[]' then 'gone' end as guard
          from (select o.place::integer as place, v_ids ->> (o.edge ->> 'source') as source, o.edge ->> 'type' as type,
                       v_ids ->> (o.edge ->> 'target') as target, o.edge ->> 'literal' as literal, (o.edge ->> 'target') is not null as named,
                       o.edge -> 'confidence' as confidence, loci.present_evidence(v_ns, o.edge -> 'evidence') as evidence
                from jsonb_array_elements(coalesce(p_plan -> 'edges', '[]')) with ordinality o(edge, place)) e) p;
    select coalesce(jsonb_agg(jsonb_build_object('place', e.place, 'source', e.source, 'type', e.type, 'target', e.target, 'literal', e.literal,
                                                 'confidence', e.confidence, 'session_id', v.session_id, 'memory_id', v.memory_id, 'observed_at', v.at)
                              order by e.place, v.at, v.session_id, v.memory_id), '[]') into v_items
    from jsonb_to_recordset(v_edges) e(place integer, source text, type text, target text, literal text, confidence double precision, evidence jsonb, guard text)
    cross join lateral jsonb_to_recordset(e.evidence) v(session_id text, memory_id uuid, at timestamptz)
    where e.guard is null;

    return query
    select 'entity', n.ordinal, coalesce((v_saved -> n.ordinal::text ->> 'id')::uuid, n.id), coalesce((v_saved -> n.ordinal::text ->> 'created')::boolean, false),
           n.guard
    from jsonb_to_recordset(v_named) n(ordinal integer, id uuid, guard text, evidence jsonb) where n.evidence <> '[]' or n.guard is not null
    order by n.ordinal;
    return query
    select 'edge', (v_items -> (w.ordinal - 1) ->> 'place')::integer, (array_agg(w.id))[1], bool_or(w.created), null
    from loci.write_edges(v_ns, loci.parse_edges(v_items, v_at), v_at) w group by 2 order by 2;
    return query
    select 'edge', e.place, null::uuid, false, e.guard
    from jsonb_to_recordset(v_edges) e(place integer, guard text) where e.guard is not null order by e.place;
end $$;
comment on function loci.apply_extraction(text, jsonb) is 'Write entities and edges that a model has read out of conversations and memories; one row an item, with the guard that refused it. Errors: 42501, P0002, 22023, 23503, 40001.';
