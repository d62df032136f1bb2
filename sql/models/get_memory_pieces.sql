-- What has a reranker's model read of these memories already? By document number; those that it has not read are left
-- out. The hash says of which text. A look-up each, and some 400 bytes a piece of a word.
create or replace function loci_api.get_memory_pieces(p_namespace text, p_documents bigint[], p_model text)
returns table (doc_id bigint, text_hash bytea, pieces bytea)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    select m.doc_id, p.text_hash, p.pieces
    from unnest(p_documents) d(number)
    cross join lateral (select o.doc_id, o.id from loci_data.memories o where o.namespace_id = v_ns
                        and o.doc_id = d.number limit 1) m
    join loci_data.memory_pieces p on p.namespace_id = v_ns and p.memory_id = m.id and p.model = p_model;
end $$;
comment on function loci_api.get_memory_pieces(text, bigint[], text) is
    'Pieces that a reranker''s model has read of memories, by document number. Errors: 42501, P0002.';
