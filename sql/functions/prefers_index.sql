-- Is a namespace so large that HNSW beats an exact scan? Below 5,000 vectors an exact scan is both exact and as fast; counting
-- stops there. One index-only range. Called by similar_memories; internal.
create or replace function loci.prefers_index(p_namespace_id integer, p_model_id smallint) returns boolean
language sql stable parallel safe
as $$
    select count(*) = 5000 from (
        select from loci_data.memory_vectors v where v.namespace_id = p_namespace_id and v.model_id = p_model_id limit 5000) v
$$;
comment on function loci.prefers_index(integer, smallint) is 'Whether a namespace has at least 5,000 vectors of a model. Internal.';
