-- Delete the next vectors of a retired model: those of the next p_limit keys after (p_namespace, p_id), of memories, then of entities (p_table). Returns where to go on; no row: that
-- table is done. Ranges of the primary key, so what was deleted before is not read again. Security definer; the operator's. Called by service/models/reembedding.py.
-- Errors: 42501, 22023 (the model is in use).
create or replace function loci.drop_vectors(
    p_model_id smallint, p_table text, p_namespace integer default 0, p_id uuid default null, p_limit integer default 5000)
returns table (namespace_id integer, id uuid, dropped bigint)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    perform loci.require_operator('change the embedding model');
    if exists (select from loci_data.embedding_models m where m.id = p_model_id and (m.active or m.filling)) then
        raise invalid_parameter_value using column = 'model', message = 'this model is in use';
    end if;
    for namespace_id in select n.id from loci_data.namespaces n where n.id >= p_namespace order by n.id loop
        if p_table = 'memory_vectors' then
            with next as materialized (
                select v.memory_id from loci_data.memory_vectors v
                where v.namespace_id = drop_vectors.namespace_id and v.model_id = p_model_id
                  and v.memory_id > coalesce(case when drop_vectors.namespace_id = p_namespace then p_id end, loci.nil_uuid())
                order by v.memory_id limit p_limit
            ), gone as (
                delete from loci_data.memory_vectors v
                where v.namespace_id = drop_vectors.namespace_id and v.model_id = p_model_id and v.memory_id = any (array(select n.memory_id from next n))
            )
            select (select n.memory_id from next n order by n.memory_id desc limit 1), (select count(*) from next) into id, dropped;
        else
            with next as materialized (
                select v.entity_id from loci_data.entity_vectors v
                where v.namespace_id = drop_vectors.namespace_id and v.model_id = p_model_id
                  and v.entity_id > coalesce(case when drop_vectors.namespace_id = p_namespace then p_id end, loci.nil_uuid())
                order by v.entity_id limit p_limit
            ), gone as (
                delete from loci_data.entity_vectors v
                where v.namespace_id = drop_vectors.namespace_id and v.model_id = p_model_id and v.entity_id = any (array(select n.entity_id from next n))
            )
            select (select n.entity_id from next n order by n.entity_id desc limit 1), (select count(*) from next) into id, dropped;
        end if;
        if dropped > 0 then
            return next;
            return;
        end if;
    end loop;
end $$;
comment on function loci.drop_vectors(smallint, text, integer, uuid, integer) is 'Delete the next vectors of a retired embedding model; where to go on, or no row at the end. Operator only. Errors: 42501, 22023.';
