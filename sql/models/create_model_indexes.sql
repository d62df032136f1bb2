-- Make the indexes that a model lacks, at once. Writers of vectors wait meanwhile, so it is for a small corpus and for
-- who is not the owner: others build them concurrently. Security definer (makes indexes); the operator's. Errors:
-- 42501.
create or replace function loci_api.create_model_indexes(p_model_id smallint) returns integer
language plpgsql volatile security definer set search_path from current
as $$
begin
    perform loci_internal.require_operator('change the embedding model');
    return loci_internal.create_vector_indexes(p_model_id);
end $$;
comment on function loci_api.create_model_indexes(smallint) is
    'Make the HNSW indexes that an embedding model lacks, while writers of vectors wait. Operator only.';
