-- Vectors as they are stored, and their mean. The vector of an erased memory goes with its row (foreign key
-- memory_vectors_memory_fkey); a forgotten memory keeps its own, and searches leave it out (nearest_vectors_<id>).

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
    -- Held to the end: retiring the model waits for these vectors, and none follow.
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
    -- Held to the end: retiring the model waits for these vectors, and none follow.
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

-- Keep the vectors of memories, made by the active model unless another is named, and their mean; what waited in the
-- queue is done. Errors: 22023 for a wrong dimension.
create or replace function loci_internal.upsert_memory_vectors(p_namespace_id integer, p_ids uuid[],
                                                               p_embeddings halfvec[], p_model_id smallint default null)
returns integer
language plpgsql volatile set search_path from current
set enable_seqscan = off
as $$
declare
    v_model loci_data.embedding_models := loci_internal.check_vector_dimensions(p_embeddings, p_model_id);
    v_count integer;
begin
    insert into loci_data.memory_vectors (namespace_id, memory_id, model_id, embedding)
    select p_namespace_id, v.id, v_model.id, v.embedding
    from unnest(p_ids, p_embeddings) v(id, embedding)
    cross join lateral (select from loci_data.memories m where m.namespace_id = p_namespace_id
                        and m.id = v.id limit 1) m
    on conflict (namespace_id, memory_id, model_id) do update set embedding = excluded.embedding;
    get diagnostics v_count = row_count;
    delete from loci_data.embedding_queue
    where namespace_id = p_namespace_id and memory_id = any (p_ids) and model_id = v_model.id;
    perform loci_internal.keep_vector_mean(p_namespace_id, v_model.id, v_count);
    return v_count;
end $$;
comment on function loci_internal.upsert_memory_vectors(integer, uuid[], halfvec[], smallint) is
    'Upsert vectors of memories and take them off the embedding queue.';

-- Keep the mean of a namespace's vectors: counted anew when more than a tenth was stored since, or there is none yet; a
-- vector pays for about ten. The mean of the first ten is that of all of them, in however many batches they came: a
-- mean of the first few would say what those mean, and not what all have in common. p_stored null: now, because vectors
-- went away; of more than 5,000 it is dropped then, and the next vector that is stored makes it. A second caller at the
-- same time leaves the work to the first. An erasure waits for it before all else (erase_memories); the first mean is
-- made by nobody while one is under way: it would be of what is going, and the erasure would not see it.
create or replace function loci_internal.keep_vector_mean(p_namespace_id integer, p_model_id smallint,
                                                          p_stored bigint default null) returns void
language plpgsql volatile set search_path from current
as $$
declare
    v_kept loci_data.vector_means;
begin
    select * into v_kept from loci_data.vector_means m
    where m.namespace_id = p_namespace_id and m.model_id = p_model_id for update skip locked;
    if found and p_stored is null and v_kept.vectors > 5000 then
        delete from loci_data.vector_means m where m.namespace_id = p_namespace_id and m.model_id = p_model_id;
        return;
    elsif found and v_kept.stored + p_stored <= v_kept.vectors / 10 then
        update loci_data.vector_means m set stored = m.stored + p_stored
        where m.namespace_id = p_namespace_id and m.model_id = p_model_id;
        return;
    elsif not found and (exists (select from loci_data.vector_means m
                                 where m.namespace_id = p_namespace_id and m.model_id = p_model_id)
                         or not loci_internal.lock_shared(p_namespace_id, 'worker', false)) then
        return;
    end if;
    insert into loci_data.vector_means as m (namespace_id, model_id, vectors, stored, mean)
    select p_namespace_id, p_model_id, count(*), 0, avg(v.embedding::vector)
    from loci_data.memory_vectors v where v.namespace_id = p_namespace_id and v.model_id = p_model_id
    having count(*) > 0
    on conflict (namespace_id, model_id) do update set vectors = excluded.vectors, stored = 0, mean = excluded.mean;
    if not found then
        delete from loci_data.vector_means m where m.namespace_id = p_namespace_id and m.model_id = p_model_id;
    end if;
end $$;
comment on function loci_internal.keep_vector_mean(integer, smallint, bigint) is
    'Count the mean of a namespace''s vectors anew where it is due.';

-- Trigger: a memory has another vector, so it stands nowhere on maps that were laid out, until it is placed anew.
create or replace function loci_internal.delete_stale_point() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
    delete from loci_data.map_points p
    where p.namespace_id = new.namespace_id and p.memory_id = new.memory_id and p.model_id = new.model_id;
    return null;
end $$;
comment on function loci_internal.delete_stale_point() is
    'Trigger: a memory with another vector gets another place on maps that were laid out.';

-- Without a condition: a dump is restored without a search path, where no operator of another schema would be found.
create or replace trigger memory_vectors_changed after update of embedding on loci_data.memory_vectors
    for each row execute function loci_internal.delete_stale_point();
