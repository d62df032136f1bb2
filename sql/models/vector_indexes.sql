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
