-- What is left of the evidence [{session_id | memory_id, at}] of something that a model read a moment ago: without memories that were
-- forgotten, ended or erased since. Primary key of memories. Called by extracted_entities and apply_extraction; internal.
create or replace function loci.present_evidence(p_namespace_id integer, p_evidence jsonb) returns jsonb
language sql stable set search_path = ''
as $$
    select coalesce(jsonb_agg(v.item order by v.place), '[]')
    from jsonb_array_elements(p_evidence) with ordinality v(item, place)
    where v.item ->> 'memory_id' is null
       or (select m.status = 'active' and m.superseded_at is null from loci_data.memories m
           where m.namespace_id = p_namespace_id and m.id = (v.item ->> 'memory_id')::uuid limit 1)
$$;
comment on function loci.present_evidence(integer, jsonb) is 'Evidence without memories that are no longer in force. Internal.';
