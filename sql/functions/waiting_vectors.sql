-- How many memories and entities wait for a vector of a model, at most p_limit in each queue? A memory that is gone by now does not count. Ranges of
-- embedding_queue_waiting and entity_queue_waiting. Called by finish_reembedding and service_figures; internal.
create or replace function loci.waiting_vectors(p_model_id smallint, p_limit integer)
returns table (memories bigint, entities bigint)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select (select count(*) from (
                select from loci.waiting_namespaces('embedding_queue', p_model_id) n(id)
                cross join lateral (select e.memory_id from loci_data.embedding_queue e
                                    where e.namespace_id = n.id and e.model_id = p_model_id and e.error is null limit p_limit) q
                where exists (select from loci_data.memories m where m.namespace_id = n.id and m.id = q.memory_id) limit p_limit) w),
           (select count(*) from (
                select from loci.waiting_namespaces('entity_queue', p_model_id) n(id)
                cross join lateral (select from loci_data.entity_queue e
                                    where e.namespace_id = n.id and e.model_id = p_model_id and e.error is null limit p_limit) q limit p_limit) w)
$$;
comment on function loci.waiting_vectors(smallint, integer) is 'Memories and entities that wait for a vector of a model. Internal.';
