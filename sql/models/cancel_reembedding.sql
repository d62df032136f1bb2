-- Stop filling a model: it is retired, and its vectors are to be dropped (delete_retired_vectors). Returns its name;
-- null: none
-- was being filled. Security definer; the operator's. Errors: 42501.
create or replace function loci_api.cancel_reembedding() returns text
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_name text;
begin
    perform loci_internal.require_operator('change the embedding model');
    update loci_data.embedding_models m set filling = false, chosen = false, queued_at = null where m.filling
    returning m.name into v_name;
    return v_name;
end $$;
comment on function loci_api.cancel_reembedding() is
    'Stop filling an embedding model; returns its name. Operator only.';
