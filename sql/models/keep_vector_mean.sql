-- Keep the mean of a namespace's vectors: counted anew when more than a tenth was stored since, or there is none yet; a
-- vector pays for about ten. The mean of the first ten is that of all of them, in however many batches they came: a
-- mean of the first few would say what those mean, and not what all have in common. p_stored null: now, because vectors
-- went away; of more than 5,000 it is dropped then, and the next vector that is stored makes it. A second caller at the
-- same time leaves the work to the first. An erasure waits for it before all else (erase_memories); the first mean is
-- made by nobody while one is under way: it would be of what is going, and the erasure would not see it.
create or replace function loci_internal.keep_vector_mean(p_namespace_id integer, p_model_id smallint,
                                                          p_stored bigint default null) returns void
language plpgsql volatile set search_path from current
as $$
declare
    v_kept loci_data.vector_means;
begin
    select * into v_kept from loci_data.vector_means m
    where m.namespace_id = p_namespace_id and m.model_id = p_model_id for update skip locked;
    if found and p_stored is null and v_kept.vectors > 5000 then
        delete from loci_data.vector_means m where m.namespace_id = p_namespace_id and m.model_id = p_model_id;
        return;
    elsif found and v_kept.stored + p_stored <= v_kept.vectors / 10 then
        update loci_data.vector_means m set stored = m.stored + p_stored
        where m.namespace_id = p_namespace_id and m.model_id = p_model_id;
        return;
    elsif not found and (exists (select from loci_data.vector_means m
                                 where m.namespace_id = p_namespace_id and m.model_id = p_model_id)
                         or not loci_internal.lock_shared(p_namespace_id, 'worker', false)) then
        return;
    end if;
    insert into loci_data.vector_means as m (namespace_id, model_id, vectors, stored, mean)
    select p_namespace_id, p_model_id, count(*), 0, avg(v.embedding::vector)
    from loci_data.memory_vectors v where v.namespace_id = p_namespace_id and v.model_id = p_model_id
    having count(*) > 0
    on conflict (namespace_id, model_id) do update set vectors = excluded.vectors, stored = 0, mean = excluded.mean;
    if not found then
        delete from loci_data.vector_means m where m.namespace_id = p_namespace_id and m.model_id = p_model_id;
    end if;
end $$;
comment on function loci_internal.keep_vector_mean(integer, smallint, bigint) is
    'Count the mean of a namespace''s vectors anew where it is due.';
