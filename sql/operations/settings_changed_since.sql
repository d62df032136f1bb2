-- Which rules that an operation set are neither as it left them nor as it found them: edge types, settings and
-- description of the namespace (each setting for itself), grants. One row each: kind, what it is called, the agent of a
-- grant.
create or replace function loci_internal.settings_changed_since(p_namespace_id integer, p_operation uuid)
returns table (kind text, name text, subject_id uuid)
language sql stable set search_path = ''
as $$
    select 'edge_type', n.after ->> 'type', null::uuid
    from loci_internal.net_changes(p_namespace_id, p_operation, 'edge_type') n
    join loci_data.edge_types t on t.namespace_id = p_namespace_id and t.type = n.after ->> 'type'
    cross join lateral jsonb_populate_record(t, case when n.created then '{"decay_rate": null, "description": null}'
                                             else '{}'::jsonb end || n.after) a
    cross join lateral jsonb_populate_record(t, case
                                             when n.created
                                                 then '{"decay_rate": null, "single_valued": false, "description": '
                                                      'null}' else n.before end) b
    where (a.decay_rate, a.single_valued, a.description) is distinct from (t.decay_rate, t.single_valued, t.description)
      and (b.decay_rate, b.single_valued, b.description) is distinct from (t.decay_rate, t.single_valued, t.description)
    union all
    select 'namespace', f.name, null
    from loci_internal.net_setting_changes(p_namespace_id, p_operation) f
    where f.now is distinct from f.after and f.now is distinct from f.before
    union all
    select 'grant', n.subject_id::text, n.subject_id
    from loci_internal.net_changes(p_namespace_id, p_operation, 'grant') n
    left join loci_data.grants g on g.namespace_id = p_namespace_id and g.agent_id = n.subject_id
    where case when n.erased then g.agent_id is not null
               else g.role is distinct from coalesce(n.after ->> 'role', g.role)
                    or n.after ? 'expires_at' and g.expires_at is distinct from (n.after ->> 'expires_at')::timestamptz
                        end
      and not (n.created and g.agent_id is null)
$$;
comment on function loci_internal.settings_changed_since(integer, uuid) is
    'Edge types, settings and grants of an operation that were changed since.';
