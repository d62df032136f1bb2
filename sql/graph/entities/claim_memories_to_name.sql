-- Which memories does the worker read for names next? A fair share of each namespace that waits, oldest first; taken
-- off the queue in the caller's transaction, so that a worker that dies gives them back. A namespace in which memories
-- are being erased waits (lock_background_work). Security definer: reads all namespaces.
create or replace function loci_api.claim_memories_to_name(p_limit integer)
returns table (namespace_id integer, memory_id uuid, content text, source text, language text)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_waiting integer[];
begin
    perform loci_internal.require_operator('claim names');
    v_waiting := array(select s.w
                       from (select w from loci_internal.waiting_namespaces('name_queue') w
                             order by random() limit p_limit) s
                       where loci_internal.lock_background_work(s.w, 'worker', false));
    return query
    with claimed as (
        select q.namespace_id, q.memory_id
        from unnest(v_waiting) n(id)
        cross join lateral (
            select e.namespace_id, e.memory_id from loci_data.name_queue e
            where e.namespace_id = n.id order by e.enqueued_at
            limit greatest(p_limit / greatest(cardinality(v_waiting), 1), 1)
            for update skip locked) q
    ), gone as (
        delete from loci_data.name_queue q using claimed c where q.namespace_id = c.namespace_id
            and q.memory_id = c.memory_id
        returning q.namespace_id, q.memory_id
    )
    select g.namespace_id, g.memory_id, left(loci_internal.text_with_subject(m.content, m.about), 100000), m.source,
           n.language::text
    from gone g
    join loci_data.namespaces n on n.id = g.namespace_id
    join loci_data.memories m on m.namespace_id = g.namespace_id and m.id = g.memory_id;
end $$;
comment on function loci_api.claim_memories_to_name(integer) is
    'Take up to p_limit memories off name_queue, shared fairly between namespaces. Operator only.';
