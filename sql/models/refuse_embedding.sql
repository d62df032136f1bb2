-- The provider refused the text of this memory or entity for good: keep the reason, try no more. Security definer; the
-- operator's.
create or replace function loci_api.refuse_embedding(p_namespace integer, p_id uuid, p_model_id smallint, p_error text)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
    perform loci_internal.require_operator('refuse embeddings');
    update loci_data.embedding_queue set error = left(p_error, 1000)
    where namespace_id = p_namespace and memory_id = p_id and model_id = p_model_id;
    update loci_data.entity_queue set error = left(p_error, 1000)
    where namespace_id = p_namespace and entity_id = p_id and model_id = p_model_id;
end $$;
comment on function loci_api.refuse_embedding(integer, uuid, smallint, text) is
    'Mark a queued memory or entity as one the provider cannot embed. Operator only.';
