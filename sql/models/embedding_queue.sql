-- Queue of texts that wait for a vector.

-- Which entities does the worker embed next? Like claim_memories_to_embed: a fair share of each namespace that waits,
-- oldest first, locked until the caller's transaction ends; a namespace in which memories are being erased waits.
-- Security definer: reads all namespaces.
create or replace function loci_api.claim_entities_to_embed(p_limit integer, p_model_id smallint default null)
returns table (namespace_id integer, entity_id uuid, model_id smallint, text text)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_model   smallint := (select m.id from loci_data.embedding_models m
                           where case when p_model_id is null then m.active else m.id = p_model_id
                             and (m.active or m.filling) end);
    v_waiting integer[];
begin
    perform loci_internal.require_operator('claim entities');
    v_waiting := array(select s.w
                       from (select w from loci_internal.waiting_namespaces('entity_queue', v_model) w
                             order by random() limit p_limit) s
                       where loci_internal.lock_background_work(s.w, 'worker', false));
    return query
    select q.namespace_id, q.entity_id, q.model_id, loci_internal.entity_embedding_text(e)
    from unnest(v_waiting) n(id)
    cross join lateral (
        select w.namespace_id, w.entity_id, w.model_id from loci_data.entity_queue w
        where w.model_id = v_model and w.namespace_id = n.id and w.error is null
        order by w.enqueued_at limit greatest(p_limit / greatest(cardinality(v_waiting), 1), 1)
        for update skip locked) q
    cross join lateral (select i.* from loci_data.entities i where i.namespace_id = q.namespace_id
                        and i.id = q.entity_id limit 1) e;
end $$;
comment on function loci_api.claim_entities_to_embed(integer, smallint) is
    'Lock and return up to p_limit entities that wait for a vector of a model (null: the active one), shared fairly '
    'between namespaces. Operator only.';

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

-- How many memories and entities wait for a vector of a model, at most p_limit in each queue? A memory that is gone by
-- now does not count. Ranges of embedding_queue_waiting and entity_queue_waiting.
create or replace function loci_internal.count_waiting_vectors(p_model_id smallint, p_limit integer)
returns table (memories bigint, entities bigint)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select (select count(*) from (
                select from loci_internal.waiting_namespaces('embedding_queue', p_model_id) n(id)
                cross join lateral (select e.memory_id from loci_data.embedding_queue e
                                    where e.namespace_id = n.id and e.model_id = p_model_id
                                      and e.error is null limit p_limit) q
                where exists (select from loci_data.memories m where m.namespace_id = n.id and m.id = q.memory_id)
                limit p_limit) w),
           (select count(*) from (
                select from loci_internal.waiting_namespaces('entity_queue', p_model_id) n(id)
                cross join lateral (select from loci_data.entity_queue e
                                    where e.namespace_id = n.id and e.model_id = p_model_id
                                      and e.error is null limit p_limit) q limit p_limit) w)
$$;
comment on function loci_internal.count_waiting_vectors(smallint, integer) is
    'Memories and entities that wait for a vector of a model.';

-- Which namespaces have something waiting in a queue? Those of vectors are asked for one model. A loose scan: one or
-- two index probes a namespace, however long the queue is.
create or replace function loci_internal.waiting_namespaces(p_queue text, p_model_id smallint default null)
returns setof integer
language plpgsql stable set search_path = ''
as $$
declare
    v_next  integer := 0;
    v_waits boolean := true;
begin
    loop
        if p_queue = 'embedding_queue' then
            select q.namespace_id into v_next from loci_data.embedding_queue q
            where q.error is null and q.namespace_id > v_next order by q.namespace_id limit 1;
            v_waits := exists (select from loci_data.embedding_queue q where q.namespace_id = v_next
                               and q.model_id = p_model_id and q.error is null);
        elsif p_queue = 'entity_queue' then
            select q.namespace_id into v_next from loci_data.entity_queue q
            where q.error is null and q.namespace_id > v_next order by q.namespace_id limit 1;
            v_waits := exists (select from loci_data.entity_queue q where q.namespace_id = v_next
                               and q.model_id = p_model_id and q.error is null);
        else
            select q.namespace_id into v_next from loci_data.name_queue q
            where q.namespace_id > v_next order by q.namespace_id limit 1;
        end if;
        exit when v_next is null;
        if v_waits then
            return next v_next;
        end if;
    end loop;
end $$;
comment on function loci_internal.waiting_namespaces(text, smallint) is
    'Namespaces with rows in embedding_queue or entity_queue (of a model), or in name_queue.';

-- Trigger, once per inserting statement: new entities wait for a vector of the active model, and of one that is being
-- filled; without one, nothing is done.
create or replace function loci_internal.queue_new_entities() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
    insert into loci_data.entity_queue (namespace_id, entity_id, model_id)
    select a.namespace_id, a.id, m.id from loci_data.embedding_models m cross join added a
    where (m.active or m.filling) and a.merged_into is null;
    return null;
end $$;
comment on function loci_internal.queue_new_entities() is
    'Trigger: queue inserted entities for embedding.';

-- Trigger: what is embedded of an entity changed, so it waits for a new vector; one that was merged has none, and waits
-- for none. A refusal of the old text is forgotten. A row that a worker holds is not waited for: the worker compares
-- the text before it is done.
create or replace function loci_internal.queue_changed_entity() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
    if new.merged_into is not null then
        delete from loci_data.entity_vectors v where v.namespace_id = new.namespace_id and v.entity_id = new.id;
        return null;  -- a place in the queue stays: a worker may hold it, and drops it
    end if;
    delete from loci_data.entity_queue q where q.namespace_id = new.namespace_id and q.entity_id = new.id
        and q.error is not null;
    insert into loci_data.entity_queue (namespace_id, entity_id, model_id)
    select new.namespace_id, new.id, m.id from loci_data.embedding_models m where m.active or m.filling
    on conflict do nothing;
    return null;
end $$;
comment on function loci_internal.queue_changed_entity() is
    'Trigger: queue a changed entity for embedding; drop the vector of a merged one.';

-- Vectors follow entities: what is embedded of one (loci_internal.entity_embedding_text) waits in the queue in the same
-- transaction.
create or replace trigger entities_queued after insert on loci_data.entities
    referencing new table as added for each statement execute function loci_internal.queue_new_entities();

-- Vectors follow entities: what is embedded of one (loci_internal.entity_embedding_text) waits in the queue in the same
-- transaction.
create or replace trigger entities_requeued after update on loci_data.entities
    for each row when (old.name <> new.name or old.type <> new.type or old.aliases <> new.aliases
                       or old.description is distinct from new.description or old.merged_into
                           is distinct from new.merged_into)
    execute function loci_internal.queue_changed_entity();

-- The provider refused the text of this memory or entity for good: keep the reason, try no more. Security definer; the
-- operator's.
create or replace function loci_api.refuse_embedding(p_namespace integer, p_id uuid, p_model_id smallint, p_error text)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
    perform loci_internal.require_operator('refuse embeddings');
    update loci_data.embedding_queue set error = left(p_error, 1000)
    where namespace_id = p_namespace and memory_id = p_id and model_id = p_model_id;
    update loci_data.entity_queue set error = left(p_error, 1000)
    where namespace_id = p_namespace and entity_id = p_id and model_id = p_model_id;
end $$;
comment on function loci_api.refuse_embedding(integer, uuid, smallint, text) is
    'Mark a queued memory or entity as one the provider cannot embed. Operator only.';

-- What is embedded of a memory? What it says, whom it is about, and who said it. Neither when (a question that names a
-- date has its words) nor the turns before it: they help where all turns are short, and where replies are long they
-- drown the message. Measured: docs/design/recall.md.
create or replace function loci_internal.memory_embedding_text(p_memory loci_data.memories) returns text
language sql stable parallel safe
return concat_ws(': ', p_memory.source, loci_internal.text_with_subject(p_memory.content, p_memory.about));
comment on function loci_internal.memory_embedding_text(loci_data.memories) is
    'Text whose embedding stands for a memory.';

-- Which text of an entity is embedded? Name, type where it says something, aliases, description. Pure.
create or replace function loci_internal.entity_embedding_text(p_entity loci_data.entities) returns text
language sql immutable parallel safe
as $$
    select left(concat(p_entity.name, case when p_entity.type not in ('unknown', 'extracted')
                       then ' (' || replace(p_entity.type, '_', ' ') || ')' end,
                       (select string_agg(', ' || a.alias, '' order by a.place)
                        from unnest(p_entity.aliases) with ordinality a(alias, place)),
                       ': ' || p_entity.description), 30000)
$$;
comment on function loci_internal.entity_embedding_text(loci_data.entities) is
    'Text whose embedding stands for an entity.';
