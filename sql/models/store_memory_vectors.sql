-- The worker's other half: vectors for what it claimed, in the same transaction. A model that was retired meanwhile
-- gets none. Security definer; the operator's.
create or replace function loci_api.store_memory_vectors(p_model_id smallint, p_namespaces integer[], p_ids uuid[],
                                                         p_embeddings halfvec[])
returns integer
language plpgsql volatile security definer set search_path from current
as $$
begin
    perform loci_internal.require_operator('store embeddings');
    -- Held to the end: whoever retires the model waits for these vectors, and there are none after that.
    perform from loci_data.embedding_models m where m.id = p_model_id and (m.active or m.filling) for share;
    if not found then
        -- It was retired after the claim: nobody asks for its vectors, and who cleared its queue passed these by.
        delete from loci_data.embedding_queue q using unnest(p_namespaces, p_ids) u(ns, id)
        where q.namespace_id = u.ns and q.memory_id = u.id and q.model_id = p_model_id;
        return 0;
    end if;
    return (select sum(loci_internal.upsert_memory_vectors(c.namespace_id, c.ids, c.embeddings, p_model_id))
            from (select v.namespace_id, array_agg(v.id) as ids, array_agg(v.embedding) as embeddings
                  from unnest(p_namespaces, p_ids, p_embeddings) v(namespace_id, id, embedding)
                  group by v.namespace_id) c);
end $$;
comment on function loci_api.store_memory_vectors(smallint, integer[], uuid[], halfvec[]) is
    'Store claimed vectors of any namespaces and take them off the queue. Operator only.';
