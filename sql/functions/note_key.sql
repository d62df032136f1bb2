-- Note a change of a key in the operations log of every namespace that it reaches: all but its hash, and what it is measured by.
-- p_before: the same fields before the change, of which only those that changed are noted. Called by what changes keys; internal.
create or replace function loci.note_key(p_key loci_data.api_keys, p_action text, p_before jsonb) returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_after jsonb := loci.shown_key(p_key);
begin
    perform loci.note_change(n.id, 'key', p_action, p_key.id,
        (select jsonb_object_agg(b.key, b.value) from jsonb_each(p_before) b where b.value <> v_after -> b.key),
        (select jsonb_object_agg(a.key, a.value) from jsonb_each(v_after) a where p_before is null or a.value <> p_before -> a.key))
    from loci.key_namespaces(p_key) n(id);
end $$;
comment on function loci.note_key(loci_data.api_keys, text, jsonb) is 'Note a change of an API key where it reaches. Internal.';
