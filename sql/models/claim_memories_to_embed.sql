-- Which memories does the worker embed next? A fair share of each namespace that waits, oldest first, locked until the
-- caller's transaction ends: a worker that dies gives them back. text stands for the memory (memory_embedding_text);
-- said, of a turn of a conversation, is what it says itself. For one model that is in use; null: the active one. A
-- namespace in which memories are being erased waits (lock_background_work). Security definer: reads all namespaces.
create or replace function loci_api.claim_memories_to_embed(p_limit integer, p_model_id smallint default null)
returns table (namespace_id integer, memory_id uuid, model_id smallint, text text, speaker text, said text)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_model   smallint := (select m.id from loci_data.embedding_models m
                           where case when p_model_id is null then m.active else m.id = p_model_id and m.in_use end);
    v_waiting integer[];
begin
    perform loci_internal.require_operator('claim embeddings');
    v_waiting := array(select s.w
                       from (select w from loci_internal.waiting_namespaces('embedding_queue', v_model) w
                             order by random() limit p_limit) s
                       where loci_internal.lock_background_work(s.w, 'worker', false));
    return query
    select q.namespace_id, q.memory_id, q.model_id, left(loci_internal.memory_embedding_text(m), 30000), m.source,
           case when m.session_id is not null then left(m.content, 30000) end
    from unnest(v_waiting) n(id)
    cross join lateral (
        select e.namespace_id, e.memory_id, e.model_id from loci_data.embedding_queue e
        where e.model_id = v_model and e.namespace_id = n.id and e.error is null
        order by e.enqueued_at limit greatest(p_limit / greatest(cardinality(v_waiting), 1), 1)
        for update skip locked) q
    join loci_data.memories m on m.namespace_id = q.namespace_id and m.id = q.memory_id;
end $$;
comment on function loci_api.claim_memories_to_embed(integer, smallint) is
    'Lock and return up to p_limit memories that wait for a vector of a model (null: the active one), shared fairly '
    'between namespaces. Operator only.';
