-- Make this model the active one; the first time, give it its partial HNSW indexes (m = 24, ef_construction = 128, cosine)
-- on memories and on entities, and queue all of both for it. Security definer (makes an index); the operator's. Called when the service starts.
create or replace function loci.register_model(p_name text, p_dimensions integer) returns smallint
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_model loci_data.embedding_models;
    v_table text;
begin
    if loci.caller() is distinct from '00000000-0000-0000-0000-000000000000' then
        raise insufficient_privilege using message = 'only the operator may register an embedding model';
    end if;
    select * into v_model from loci_data.embedding_models where name = p_name;
    if v_model.active and v_model.dimensions = p_dimensions then
        return v_model.id;
    end if;
    -- Writers wait here: one that began before the model was active would leave what it writes out of the queue for good.
    lock table loci_data.memories, loci_data.entities, loci_data.embedding_models in share row exclusive mode;
    select * into v_model from loci_data.embedding_models where name = p_name;
    if v_model.id is null then
        insert into loci_data.embedding_models (name, dimensions) values (p_name, p_dimensions) returning * into v_model;
        for v_table in select unnest(array['memory_vectors', 'entity_vectors']) loop
            execute format('create index %3$s_hnsw_%1$s on loci_data.%3$s
                            using hnsw ((embedding::halfvec(%2$s)) halfvec_cosine_ops)
                            with (m = 24, ef_construction = 128) where model_id = %1$s', v_model.id, p_dimensions, v_table);
        end loop;
    elsif v_model.dimensions <> p_dimensions then
        raise invalid_parameter_value using column = 'dimensions',
            message = format('the model %s has %s dimensions here, not %s', p_name, v_model.dimensions, p_dimensions);
    end if;
    update loci_data.embedding_models set active = false where active and id <> v_model.id;
    update loci_data.embedding_models set active = true where id = v_model.id;
    insert into loci_data.embedding_queue (namespace_id, memory_id, model_id)
    select m.namespace_id, m.id, v_model.id from loci_data.memories m
    where not exists (select from loci_data.memory_vectors v
                      where v.namespace_id = m.namespace_id and v.memory_id = m.id and v.model_id = v_model.id)
    on conflict do nothing;
    insert into loci_data.entity_queue (namespace_id, entity_id, model_id)
    select e.namespace_id, e.id, v_model.id from loci_data.entities e
    where e.merged_into is null and not exists (select from loci_data.entity_vectors v
                      where v.namespace_id = e.namespace_id and v.entity_id = e.id and v.model_id = v_model.id)
    on conflict do nothing;
    return v_model.id;
end $$;
comment on function loci.register_model(text, integer) is 'Make an embedding model the active one, with its indexes; queue memories and entities that it has not embedded. Operator only.';
