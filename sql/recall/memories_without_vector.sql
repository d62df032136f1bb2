-- Which memories that a recall may show wait for their vector of the active model? The newest that pass the filter, up
-- to the setting recall_waiting with what is to be embedded of them (as claim_memories_to_embed says), the others of
-- the newest 100 without: JSON array of {doc_id, text, speaker, said}. waiting: how many there are, up to 1,000. No row
-- where none waits: one probe of the index embedding_queue_waiting. That one waits for a new vector and has its old one
-- until then, its row in the queue says: asking the vectors of 1,000 cost 3 ms. Security definer: reads past the
-- policies; checks first. Errors: 42501, P0002.
create or replace function loci_api.memories_without_vector(
    p_namespace text, p_filter jsonb default '{}', p_as_of timestamptz default null,
    p_known_at timestamptz default null)
returns table (waiting bigint, newest jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_model  smallint := (select m.id from loci_data.embedding_models m where m.active);
    v_filter loci_internal.memory_filter;
    v_most   integer;
begin
    if not exists (select from loci_data.embedding_queue q
                   where q.namespace_id = v_ns and q.model_id = v_model and q.error is null) then
        return;
    end if;
    v_filter := loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
    v_most := loci_internal.setting_number(v_ns, 'recall_waiting');
    return query
    with queued as materialized (
        select q.memory_id, q.enqueued_at, q.has_vector from loci_data.embedding_queue q
        where q.namespace_id = v_ns and q.model_id = v_model and q.error is null
        order by q.enqueued_at desc, q.memory_id desc limit 1000
    ), missing as materialized (  -- one that waits for a new vector has its old one until then
        select q.memory_id, q.enqueued_at from queued q where not q.has_vector
    ), shown as (
        select m.*, row_number() over (order by n.enqueued_at desc, n.memory_id desc) as place
        from (select s.memory_id, s.enqueued_at from missing s
              order by s.enqueued_at desc, s.memory_id desc limit 100) n
        cross join lateral (select o as memory, o.doc_id, o.source, o.session_id, o.content from loci_data.memories o
                            where o.namespace_id = v_ns and o.id = n.memory_id
                              and loci_internal.memory_is_visible(o, v_filter) limit 1) m
    )
    select (select count(*) from missing), coalesce(jsonb_agg(case when s.place <= v_most then jsonb_build_object(
               'doc_id', s.doc_id, 'text', left(loci_internal.memory_embedding_text(s.memory), 30000),
               'speaker', s.source, 'said', case when s.session_id is not null then left(s.content, 30000) end)
               else jsonb_build_object('doc_id', s.doc_id) end order by s.place), '[]')
    from shown s having (select count(*) from missing) > 0;
end $$;
comment on function loci_api.memories_without_vector(text, jsonb, timestamptz, timestamptz) is
    'Memories that wait for their vector of the active model: how many, and the newest that pass a filter. Errors: '
    '42501, P0002.';
