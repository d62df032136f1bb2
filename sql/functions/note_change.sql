-- Note one change that no trigger sees: of keys, whose table has no namespace. Called by the functions of keys; internal.
create or replace function loci.note_change(
    p_namespace_id integer, p_kind text, p_action text, p_subject uuid, p_before jsonb, p_after jsonb)
returns void
language sql volatile set search_path = ''
as $$
    insert into loci_data.outbox (namespace_id, operation_id, kind, action, subject_id, before, after)
    values (p_namespace_id, loci.operation_of(p_namespace_id), p_kind, p_action, p_subject, p_before, p_after)
$$;
comment on function loci.note_change(integer, text, text, uuid, jsonb, jsonb) is 'Note a change of something that has no table in a namespace. Internal.';
