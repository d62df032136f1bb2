-- Which namespaces have something waiting in a queue? One index probe a namespace (a loose scan), however long the queue is.
-- Called by claim_embeddings, claim_entities and claim_names. Internal.
create or replace function loci.waiting_namespaces(p_queue text) returns setof integer
language plpgsql stable set search_path = ''
as $$
declare
    v_next integer := 0;
begin
    loop
        if p_queue = 'embedding_queue' then
            select q.namespace_id into v_next from loci_data.embedding_queue q
            where q.error is null and q.namespace_id > v_next order by q.namespace_id limit 1;
        elsif p_queue = 'entity_queue' then
            select q.namespace_id into v_next from loci_data.entity_queue q
            where q.error is null and q.namespace_id > v_next order by q.namespace_id limit 1;
        else
            select q.namespace_id into v_next from loci_data.name_queue q
            where q.namespace_id > v_next order by q.namespace_id limit 1;
        end if;
        exit when v_next is null;
        return next v_next;
    end loop;
end $$;
comment on function loci.waiting_namespaces(text) is 'Namespaces with rows in embedding_queue, entity_queue or name_queue. Internal.';
