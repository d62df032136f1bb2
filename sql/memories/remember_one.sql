-- Write one memory and show it: what POST /memories replies, in one round trip. Each statement in here sees what the
-- one before wrote. Errors: those of remember.
create or replace function loci_api.remember_one(p_namespace text, p_item jsonb)
returns table (superseded uuid, duplicate boolean, ignored text[], cut_short jsonb, memory loci.memory_record)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_outcome record;
begin
    select r.id, r.superseded, r.duplicate, r.ignored, r.cut_short into v_outcome
    from loci_api.remember(p_namespace, jsonb_build_array(p_item)) r;
    return query
    select v_outcome.superseded, v_outcome.duplicate, v_outcome.ignored, v_outcome.cut_short, m
    from loci.get_memories(p_namespace, array[v_outcome.id]) m;
end $$;
comment on function loci_api.remember_one(text, jsonb) is
    'Write a memory (see remember) and return it, with what became of the write.';
