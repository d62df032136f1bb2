-- The document number under which a memory is restored: its own where this server has given out higher ones and the namespace has no
-- other memory with it, else the next. Two index look-ups. Called for each restored memory; internal.
create or replace function loci.free_doc_id(p_namespace_id integer, p_doc_id bigint) returns bigint
language sql volatile set search_path = ''
as $$
    select case when p_doc_id between 1 and coalesce(pg_catalog.pg_sequence_last_value('loci_data.memories_doc_id_seq'), 0)
                 and not exists (select from loci_data.memories m where m.namespace_id = p_namespace_id and m.doc_id = p_doc_id)
                then p_doc_id else nextval('loci_data.memories_doc_id_seq') end
$$;
comment on function loci.free_doc_id(integer, bigint) is 'Document number of a restored memory. Internal.';
