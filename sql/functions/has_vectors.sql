-- Has a model (null: none) made any vector that is still there? Without one it reads the tables of vectors through. Called by register_model; internal.
create or replace function loci.has_vectors(p_model_id smallint) returns boolean
language sql stable set search_path from current
as $$
    select exists (select from loci_data.memory_vectors v where v.model_id = p_model_id)
        or exists (select from loci_data.entity_vectors v where v.model_id = p_model_id)
$$;
comment on function loci.has_vectors(smallint) is 'Whether a model has vectors. Internal.';
