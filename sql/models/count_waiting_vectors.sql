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
