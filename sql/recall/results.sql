-- Rows of recalled memories, and the context of a search.

-- Memories by document number, as valid and believed at two times, in the order asked: the last step of a recall. One
-- index look-up each.
create or replace function loci_api.get_recalled_memories(
    p_namespace text, p_documents bigint[], p_as_of timestamptz default null, p_known_at timestamptz default null)
returns setof loci.memory_record
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
    v_at timestamptz := coalesce(p_as_of, clock_timestamp());
begin
    return query
    select (loci.memory_record(b, v_at, p.parent_id)).*
    from unnest(p_documents) with ordinality i(doc_id, place)
    cross join lateral (select o.* from loci_data.memories o where o.namespace_id = v_ns
                        and o.doc_id = i.doc_id limit 1) m
    cross join lateral loci_internal.memory_as_believed(m, p_known_at) b
    left join lateral loci_internal.parent_of(b, v_at, p_known_at) p on true
    order by i.place;
end $$;
comment on function loci_api.get_recalled_memories(text, bigint[], timestamptz, timestamptz) is
    'Memories by document number, in the order asked. Errors: 42501, P0002.';

-- What does the graph say beside the results of a lexical search? The entities that the
-- question names, as in a recall; the rules of these and of pinned ones; and for each document the entities that it
-- mentions, the rarest first, at most 20. mentions: {document: [{id, name, type}]}, without documents that mention
-- none. Both times as the search has them. A range of the primary key of memory_mentions for each document, and a
-- look-up for each entity. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.search_context(p_namespace text, p_query text, p_documents bigint[],
                                                   p_as_of timestamptz default null,
                                                   p_known_at timestamptz default null)
returns table (entities jsonb, constraints json, mentions jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
begin
    select jsonb_agg(to_jsonb(e) order by e.position, e.id) into entities
    from loci.match_entities(p_namespace, p_query, p_as_of, p_known_at) e;
    select w.constraints into constraints
    from loci_api.recall_walk_arm(p_namespace, array(select (e ->> 'id')::uuid from jsonb_array_elements(entities) e
                                             order by (e ->> 'mentions')::integer desc, e ->> 'id'), false,
                                  '{}', p_as_of, p_known_at) w;
    select jsonb_object_agg(d.doc_id, n.named) into mentions
    from unnest(p_documents) d(doc_id)
    cross join lateral (select o.id from loci_data.memories o where o.namespace_id = v_namespace_id
                        and o.doc_id = d.doc_id limit 1) m
    cross join lateral (
        select jsonb_agg(jsonb_build_object('id', b.id, 'name', b.name, 'type', b.type) order by b.mentions,
                         b.id) as named
        from (select e.* from loci_data.memory_mentions t
              cross join lateral loci_internal.entities_at(v_namespace_id, array[t.entity_id], p_as_of,
                                                           p_known_at) e
              where t.namespace_id = v_namespace_id and t.memory_id = m.id
              order by e.mentions, e.id limit 20) b) n
    where n.named is not null;
    return next;
end $$;
comment on function loci_api.search_context(text, text, bigint[], timestamptz, timestamptz) is
    'Entities that a question names, rules of these and pinned ones, and the entities that each document mentions; '
    'one row. Errors: 42501, P0002.';
