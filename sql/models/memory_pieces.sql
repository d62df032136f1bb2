-- Pieces of memories that a reranker has read.

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

-- Keep what a reranker's model has read of memories, so that it need not read them again: how many. A memory that was
-- erased meanwhile is passed by, one that is being erased is waited for: what is kept goes with its memory. Rows are
-- locked in order of their ids. Security definer; the operator's. Errors: 42501, P0002, 23514.
create or replace function loci_api.store_memory_pieces(
    p_namespace text, p_documents bigint[], p_model text, p_hashes bytea[], p_pieces bytea[])
returns integer
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns    integer;
    v_count integer;
begin
    perform loci_internal.require_operator('store what a reranker has read');
    v_ns := loci_internal.authorize(p_namespace, 'reader');
    insert into loci_data.memory_pieces (namespace_id, memory_id, model, text_hash, pieces)
    select v_ns, m.id, p_model, u.text_hash, u.pieces
    from (select o.id, o.doc_id from loci_data.memories o
          where o.namespace_id = v_ns and o.doc_id = any (p_documents)
          order by o.id for key share) m
    join unnest(p_documents, p_hashes, p_pieces) u(doc_id, text_hash, pieces) on u.doc_id = m.doc_id
    on conflict (namespace_id, memory_id) do update
        set model = excluded.model, text_hash = excluded.text_hash, pieces = excluded.pieces;
    get diagnostics v_count = row_count;
    return v_count;
end $$;
comment on function loci_api.store_memory_pieces(text, bigint[], text, bytea[], bytea[]) is
    'Keep what a reranker''s model has read of memories; how many. Operator only. Errors: 42501, P0002, 23514.';
