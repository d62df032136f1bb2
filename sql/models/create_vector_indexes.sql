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
