-- May reflect write a summary into this memory? Into domains and concepts that it made or last wrote itself, and that
-- are not protected. Inlines.
create or replace function loci_internal.may_summarise_concept(p_memory loci_data.memories, p_settings jsonb)
returns boolean
language sql stable
as $$
    select p_memory.layer <= 1 and p_memory.source is not distinct from 'reflect'
       and p_memory.importance < (p_settings ->> 'protected_importance')::double precision
       and p_memory.observations < (p_settings ->> 'protected_observations')::integer
$$;
comment on function loci_internal.may_summarise_concept(loci_data.memories, jsonb) is
    'Whether reflect may write a summary into a concept.';
