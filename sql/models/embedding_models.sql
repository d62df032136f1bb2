-- Embedding models: the configured one, dimensions, and indexes of vectors.

-- A service says which model it is configured with. Where none is active, or the active one has made no vector, it
-- becomes active at once: it gets its indexes, and all memories and entities wait for a vector. Where another serves,
-- nothing changes, and the answer is null: see begin_reembedding. Security definer (makes indexes); the operator's.
-- Called when a worker starts. Errors: 42501, 22023 (other dimensions), 55P03 (writers did not let go).
create or replace function loci_api.register_model(p_name text, p_dimensions integer, p_asks integer default null)
returns smallint
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_model  loci_data.embedding_models;
    v_active loci_data.embedding_models;
begin
    perform loci_internal.require_operator('register an embedding model');
    select * into v_active from loci_data.embedding_models where active;
    if v_active.name = p_name and v_active.dimensions = p_dimensions then
        return v_active.id;
    elsif v_active.name <> p_name and loci_internal.has_vectors(v_active.id) then
        return null;
    end if;
    perform loci_internal.hold_writers();
    select * into v_active from loci_data.embedding_models where active;
    v_model := loci_internal.upsert_embedding_model(p_name, p_dimensions, p_asks);
    if v_active.id = v_model.id then
        return v_active.id;
    elsif loci_internal.has_vectors(v_active.id) then
        return null;
    end if;
    perform loci_internal.create_vector_indexes(v_model.id);
    update loci_data.embedding_models set active = false where active;
    update loci_data.embedding_models
    set active = true, filling = false, second = false, chosen = false, dropped_at = null where id = v_model.id;
    perform loci_internal.queue_missing_vectors(n.id, v_model.id) from loci_data.namespaces n;
    return v_model.id;
end $$;
comment on function loci_api.register_model(text, integer, integer) is
    'Make an embedding model the active one where no other has made vectors, with its indexes, and queue all memories '
    'and entities for it; null where another serves. Operator only. Errors: 42501, 22023, 55P03.';

-- Has a model (null: none) made any vector that is still there? Without one it reads the tables of vectors through.
create or replace function loci_internal.has_vectors(p_model_id smallint) returns boolean
language sql stable set search_path from current
as $$
    select exists (select from loci_data.memory_vectors v where v.model_id = p_model_id)
        or exists (select from loci_data.entity_vectors v where v.model_id = p_model_id)
$$;
comment on function loci_internal.has_vectors(smallint) is
    'Whether a model has vectors.';

-- Add a model, neither active nor filling, or find it: the same name has the same dimensions. Errors: 22023.
create or replace function loci_internal.upsert_embedding_model(p_name text, p_dimensions integer, p_asks integer)
returns loci_data.embedding_models
language plpgsql volatile set search_path = ''
as $$
declare
    v_model loci_data.embedding_models;
begin
    select * into v_model from loci_data.embedding_models m where m.name = p_name;
    if v_model.id is null then
        insert into loci_data.embedding_models (name, dimensions, asks) values (p_name, p_dimensions, p_asks)
        returning * into v_model;
    elsif v_model.dimensions <> p_dimensions then
        raise invalid_parameter_value using column = 'dimensions',
            message = format('the model %s has %s dimensions here, not %s', p_name, v_model.dimensions, p_dimensions);
    end if;
    return v_model;
end $$;
comment on function loci_internal.upsert_embedding_model(text, integer, integer) is
    'Add a model, or find it by its name.';

-- Do vectors fit a model (null: the active one)? Returns the model. Errors: 22023 for a wrong dimension, or where there
-- is no model.
create or replace function loci_internal.check_vector_dimensions(p_embeddings halfvec[], p_model_id smallint)
returns loci_data.embedding_models
language plpgsql stable set search_path from current
as $$
declare
    v_model loci_data.embedding_models;
    v_wrong integer;
begin
    select * into v_model from loci_data.embedding_models where case when p_model_id is null then active
        else id = p_model_id end;
    select vector_dims(e) into v_wrong from unnest(p_embeddings) e where vector_dims(e)
        is distinct from v_model.dimensions limit 1;
    if v_model.id is null or found then
        raise invalid_parameter_value using
            message = case when v_model.id is null then 'this service has no embedding model, so it takes no vectors'
                           else format('embedding has %s dimensions; the model %s has %s', v_wrong, v_model.name,
                                       v_model.dimensions) end,
            column = 'embedding';
    end if;
    return v_model;
end $$;
comment on function loci_internal.check_vector_dimensions(halfvec[], smallint) is
    'The model that vectors are of, if they have its dimensions. Errors: 22023.';

-- Make the indexes that a model lacks, at once. Writers of vectors wait meanwhile, so it is for a small corpus and for
-- callers that are not the owner: others build them concurrently. Security definer (makes indexes); the operator's.
-- Errors: 42501.
create or replace function loci_api.create_model_indexes(p_model_id smallint) returns integer
language plpgsql volatile security definer set search_path from current
as $$
begin
    perform loci_internal.require_operator('change the embedding model');
    return loci_internal.create_vector_indexes(p_model_id);
end $$;
comment on function loci_api.create_model_indexes(smallint) is
    'Make the HNSW indexes that an embedding model lacks, while writers of vectors wait. Operator only.';

-- Make the indexes of a model that are missing or were cut short, at once: writers of vectors wait. For a model that
-- has no vectors yet, or few.
create or replace function loci_internal.create_vector_indexes(p_model_id smallint) returns integer
language plpgsql volatile set search_path from current
as $$
declare
    v_index record;
    v_made  integer := 0;
begin
    for v_index in select i.name, i.valid, i.statement from loci_api.vector_indexes(p_model_id) i where i.valid
        is distinct from true loop
        execute format('drop index if exists loci_data.%I', v_index.name);
        execute replace(v_index.statement, 'create index concurrently', 'create index');
        v_made := v_made + 1;
    end loop;
    return v_made;
end $$;
comment on function loci_internal.create_vector_indexes(smallint) is
    'Make the HNSW indexes that a model lacks.';

-- Which HNSW indexes does a model have, and which are missing? One partial index on each partition of memory_vectors
-- and entity_vectors, not one on the whole: so each can be built, and dropped, while others read and write. valid:
-- null, there is none; false, its building was cut short. statement makes it (m = 24, ef_construction = 128, cosine).
-- Reads the catalogue.
create or replace function loci_api.vector_indexes(p_model_id smallint)
returns table (partition text, name text, valid boolean, statement text)
language sql stable set search_path from current
as $$
    select c.relname::text, n.name, (select i.indisvalid and i.indisready from pg_catalog.pg_index i
                                     where i.indexrelid = to_regclass(format('loci_data.%I', n.name))),
           format('create index concurrently %I on loci_data.%I using hnsw ((embedding::halfvec(%s)) halfvec_cosine_ops)
                   with (m = 24, ef_construction = 128) where model_id = %s', n.name, c.relname, m.dimensions, m.id)
    from loci_data.embedding_models m
    cross join pg_catalog.pg_inherits h
    join pg_catalog.pg_class c on c.oid = h.inhrelid
    cross join lateral (select format('%s_hnsw_%s', c.relname, m.id) as name) n
    where m.id = p_model_id
      and h.inhparent in ('loci_data.memory_vectors'::regclass, 'loci_data.entity_vectors'::regclass)
    order by c.relname
$$;
comment on function loci_api.vector_indexes(smallint) is
    'HNSW indexes that a model has or lacks, one a partition, and the statements that make them.';
