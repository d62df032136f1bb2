-- Restore vectors of an export, JSON array of {memory_id, embedding}, made by the model that is active here
-- (begin_restore says whether they were); a vector that is there already stays. Takes their memories off the embedding
-- queue. One index probe a line. Admin. Security definer: writes memory_vectors. Errors: 42501, P0002, 22023, 22P02,
-- 23503 (memory_id).
create or replace function loci_api.restore_vectors(p_namespace text, p_lines jsonb)
returns table (written integer, unchanged integer, problems jsonb)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'admin');
    v_model smallint := (select m.id from loci_data.embedding_models m where m.active);
    v_wrong jsonb;
begin
    select l into v_wrong from jsonb_array_elements(p_lines) l
    where l - array['kind', 'memory_id', 'embedding'] <> '{}' or not l ?& array['memory_id', 'embedding']
      or jsonb_typeof(l -> 'embedding') <> 'array' limit 1;
    if found then
        raise invalid_parameter_value
            using message = 'a vector has exactly the fields memory_id and embedding, an array of numbers',
            column = 'embedding';
    end if;
    select l -> 'memory_id' into v_wrong from jsonb_array_elements(p_lines) l
    where (select m.id from loci_data.memories m where m.namespace_id = v_ns
           and m.id = (l ->> 'memory_id')::uuid) is null limit 1;
    if found then
        raise foreign_key_violation using message = format('memory_id: there is no memory %s', v_wrong #>> '{}'),
            column = 'memory_id';
    end if;
    select coalesce(loci_internal.upsert_memory_vectors(v_ns, array_agg((l ->> 'memory_id')::uuid),
                                                        array_agg((l ->> 'embedding')::halfvec)), 0) into written
    from jsonb_array_elements(p_lines) l
    where (select v.memory_id from loci_data.memory_vectors v
           where v.namespace_id = v_ns and v.memory_id = (l ->> 'memory_id')::uuid and v.model_id = v_model) is null
    having count(*) > 0;
    written := coalesce(written, 0);
    unchanged := jsonb_array_length(p_lines) - written;
    problems := '[]';
    return next;
end $$;
comment on function loci_api.restore_vectors(text, jsonb) is
    'Restore vectors of an export that the active model made. Admin. Errors: 42501, P0002, 22023, 22P02, 23503.';
