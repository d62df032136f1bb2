-- What may a memory outdate that was just written by itself? It is compared as a fact of retain is (fact_candidates),
-- but no rule ends anything here. Near memories are linked (contradicts), so that the pair stays open until it is
-- settled: at most retain_links. Named as replies do, the likeliest first (notice_unsettled). p_embedding: a vector of
-- the model p_model; null: by words alone. A memory that is no fact (layer 2) is compared with nothing. Cost:
-- fact_candidates. Errors: 42501, P0002.
create or replace function loci_api.notice_memory(p_namespace text, p_id uuid, p_embedding real[] default null,
                                                  p_model integer default null) returns jsonb
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'writer');
    v_settings jsonb := loci_internal.settings(v_ns);
    v_memory   loci_data.memories;
    v_known    loci_api.fact_candidate[];
    v_pairs    jsonb;
    v_near     record;
begin
    select m.* into v_memory from loci_data.memories m where m.namespace_id = v_ns and m.id = p_id;
    if not found then
        raise no_data_found using message = format('memory %s does not exist', p_id), column = 'id';
    elsif v_memory.layer <> 2 then
        return '[]';
    end if;
    v_known := array(
        select k from loci.fact_candidates(p_namespace, jsonb_build_array(jsonb_build_object(
            'content', v_memory.content, 'source', v_memory.source, 'about', v_memory.about,
            'category', v_memory.category, 'valid_from', v_memory.valid_from, 'embedding', p_embedding,
            'embedding_model', p_model))) k
        where k.lineage <> v_memory.lineage);
    v_pairs := loci_internal.notice_unsettled(v_known, v_settings);
    for v_near in
        select u.id, u.strength from (
            select (p.value ->> 'target_id')::uuid as id, (p.value ->> 'similarity')::double precision as strength,
                   p.nth
            from jsonb_array_elements(v_pairs) with ordinality p(value, nth)
            where p.value -> 'is_near' = 'true' order by p.nth limit (v_settings ->> 'retain_links')::integer) u
        cross join lateral (select m.lineage_id from loci_data.memories m where m.namespace_id = v_ns
                            and m.id = u.id limit 1) t
        where not loci_internal.are_both_true(v_ns, v_memory.lineage_id, t.lineage_id)
        order by u.nth
    loop
        perform loci_api.link_memories(p_namespace, p_id, v_near.id, 'contradicts', greatest(v_near.strength, 0));
    end loop;
    return loci_internal.name_unsettled(v_ns, v_memory.lineage_id, v_pairs);
end $$;
comment on function loci_api.notice_memory(text, uuid, real[], integer) is
    'Compare a memory that was just written with what is known, link what it may outdate, and name it. Errors: 42501, '
    'P0002.';
