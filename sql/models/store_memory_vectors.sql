-- The worker's other half: vectors for the memories that it claimed, in the same transaction; how many. p_texts: what
-- was embedded. A memory that says something else by now, or is being changed, waits anew, behind the others: who
-- changed it found its place in the queue taken. Rows are locked against a change that would find it so still; none is
-- waited for, since who holds one may wait for its place in the queue. A model that was retired meanwhile gets no
-- vectors. Security definer; the operator's. Errors: 42501, 22023 (dimensions).
create or replace function loci_api.store_memory_vectors(p_model_id smallint, p_namespaces integer[], p_ids uuid[],
                                                         p_texts text[], p_embeddings halfvec[])
returns integer
language plpgsql volatile security definer set search_path from current set enable_seqscan = off
as $$
declare
    v_count integer := 0;
    v_ns    integer;
    v_same  uuid[];
begin
    perform loci_internal.require_operator('store embeddings');
    -- Held to the end: whoever retires the model waits for these vectors, and there are none after that.
    perform from loci_data.embedding_models m where m.id = p_model_id and m.in_use for share;
    if not found then
        -- It was retired after the claim: nobody asks for its vectors, and who cleared its queue passed these by.
        delete from loci_data.embedding_queue q using unnest(p_namespaces, p_ids) u(ns, id)
        where q.namespace_id = u.ns and q.memory_id = u.id and q.model_id = p_model_id;
        return 0;
    end if;
    for v_ns in select distinct n from unnest(p_namespaces) n order by n loop
        v_same := array(select l.id
                        from (select m.id, left(loci_internal.memory_embedding_text(m), 30000) as text
                              from loci_data.memories m
                              where m.namespace_id = v_ns
                                and m.id = any (array(select u.id from unnest(p_namespaces, p_ids) u(ns, id)
                                                      where u.ns = v_ns))
                              order by m.id for share skip locked) l
                        join unnest(p_namespaces, p_ids, p_texts) u(ns, id, text) on u.ns = v_ns and u.id = l.id
                         and u.text = l.text);
        update loci_data.embedding_queue q set enqueued_at = clock_timestamp()
        from unnest(p_namespaces, p_ids) u(ns, id)
        where u.ns = v_ns and u.id <> all (v_same) and q.namespace_id = v_ns and q.memory_id = u.id
          and q.model_id = p_model_id;
        continue when v_same = '{}';
        v_count := v_count + (
            select loci_internal.upsert_memory_vectors(v_ns, array_agg(u.id), array_agg(u.embedding), p_model_id)
            from unnest(p_namespaces, p_ids, p_embeddings) u(ns, id, embedding)
            where u.ns = v_ns and u.id = any (v_same));
    end loop;
    return v_count;
end $$;
comment on function loci_api.store_memory_vectors(smallint, integer[], uuid[], text[], halfvec[]) is
    'Store vectors of claimed memories that still say the same, and take these off the queue. Operator only.';
