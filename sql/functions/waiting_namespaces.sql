-- Which namespaces have something waiting in a queue? Those of vectors are asked for one model. A loose scan: one or two index probes a namespace, however
-- long the queue is. Called by claim_embeddings, claim_entities, claim_names and service_figures. Internal.
create or replace function loci.waiting_namespaces(p_queue text, p_model_id smallint default null) returns setof integer
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
            v_waits := exists (select from loci_data.embedding_queue q where q.namespace_id = v_next and q.model_id = p_model_id and q.error is null);
        elsif p_queue = 'entity_queue' then
            select q.namespace_id into v_next from loci_data.entity_queue q
            where q.error is null and q.namespace_id > v_next order by q.namespace_id limit 1;
            v_waits := exists (select from loci_data.entity_queue q where q.namespace_id = v_next and q.model_id = p_model_id and q.error is null);
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
comment on function loci.waiting_namespaces(text, smallint) is 'Namespaces with rows in embedding_queue or entity_queue (of a model), or in name_queue. Internal.';
