-- Note one change that no trigger sees: of keys, whose table has no namespace.
create or replace function loci_internal.log_change(
    p_namespace_id integer, p_kind text, p_action text, p_subject uuid, p_before jsonb, p_after jsonb)
returns void
language sql volatile set search_path = ''
as $$
    insert into loci_data.outbox (namespace_id, operation_id, kind, action, subject_id, before, after)
    values (p_namespace_id, loci_internal.ensure_operation(p_namespace_id), p_kind, p_action, p_subject, p_before,
            p_after)
$$;
comment on function loci_internal.log_change(integer, text, text, uuid, jsonb, jsonb) is
    'Note a change of something that has no table in a namespace.';

-- Note a change of a key in the operations log of its agent's home, or where it has none, of the namespace of the
-- request: all but its hash, and what it is measured by. p_before: the same fields before the change, of which only
-- those that changed are noted.
create or replace function loci_internal.log_key_change(p_namespace_id integer, p_key loci_data.api_keys, p_action text,
                                                        p_before jsonb)
returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_after jsonb := loci_internal.key_record(p_key);
    v_home  integer := (select n.id from loci_data.agents a join loci_data.namespaces n on n.id = a.home_id
                        where a.id = p_key.agent_id);
begin
    perform loci_internal.log_change(coalesce(v_home, p_namespace_id), 'key', p_action, p_key.id,
        (select jsonb_object_agg(b.key, b.value) from jsonb_each(p_before) b where b.value <> v_after -> b.key),
        (select jsonb_object_agg(a.key, a.value) from jsonb_each(v_after) a where p_before is null
         or a.value <> p_before -> a.key));
end $$;
comment on function loci_internal.log_key_change(integer, loci_data.api_keys, text, jsonb) is
    'Note a change of an API key at the home of its agent.';
