-- The worker's other half: vectors for the entities that it claimed, in the same transaction. p_texts: what was
-- embedded. An entity that says something else by now gets the vector for a while, and waits on; one that was merged is
-- done. Rows are locked, in order of canonical_name, against a change that would find its place in the queue still
-- taken. Security definer; the operator's. Errors: 42501, 22023 (dimensions).
create or replace function loci_api.store_entity_vectors(
    p_model_id smallint, p_namespaces integer[], p_ids uuid[], p_texts text[], p_embeddings halfvec[]) returns integer
language plpgsql volatile security definer set search_path from current set enable_seqscan = off
as $$
declare
    v_count integer := 0;
    v_ns    integer;
begin
    perform loci_internal.require_operator('store embeddings');
    -- Held to the end: whoever retires the model waits for these vectors, and there are none after that.
    perform from loci_data.embedding_models m where m.id = p_model_id and (m.active or m.filling) for share;
    if not found then
        -- It was retired after the claim: nobody asks for its vectors, and who cleared its queue passed these by.
        delete from loci_data.entity_queue q using unnest(p_namespaces, p_ids) u(ns, id)
        where q.namespace_id = u.ns and q.entity_id = u.id and q.model_id = p_model_id;
        return 0;
    end if;
    perform loci_internal.check_vector_dimensions(p_embeddings, p_model_id);
    for v_ns in select distinct n from unnest(p_namespaces) n order by n loop
        with item as materialized (
            select u.id, u.text, u.embedding
            from unnest(p_namespaces, p_ids, p_texts, p_embeddings) u(ns, id, text, embedding) where u.ns = v_ns
        ), there as materialized (
            select e.id, loci_internal.entity_embedding_text(e) as text from loci_data.entities e
            where e.namespace_id = v_ns and e.id = any(array(select i.id from item i)) and e.merged_into is null
            order by e.canonical_name, e.id for share
        ), stored as (
            insert into loci_data.entity_vectors (namespace_id, entity_id, model_id, embedding)
            select v_ns, i.id, p_model_id, i.embedding from item i join there t using (id)
            on conflict (namespace_id, entity_id, model_id) do update set embedding = excluded.embedding
            returning entity_id
        ), done as (
            delete from loci_data.entity_queue q
            where q.namespace_id = v_ns and q.model_id = p_model_id
              and q.entity_id = any(array(select i.id from item i left join there t using (id) where t.text is null
                                          or t.text = i.text))
        )
        select v_count + count(*) into v_count from stored;
    end loop;
    return v_count;
end $$;
comment on function loci_api.store_entity_vectors(smallint, integer[], uuid[], text[], halfvec[]) is
    'Store vectors of claimed entities and take those that still say the same off the queue. Operator only.';
