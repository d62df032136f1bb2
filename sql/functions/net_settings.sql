-- Settings of the namespace, and its description, that an operation changed: each by name, as it was before, after, and is now; null: not
-- set, the default holds. Called by changed_settings and undo_settings; internal.
create or replace function loci.net_settings(p_namespace_id integer, p_operation uuid)
returns table (name text, before jsonb, after jsonb, now jsonb)
language sql stable set search_path = ''
as $$
    with net as (
        select c.before, c.after, s.settings, s.description
        from loci.net_changes(p_namespace_id, p_operation, 'namespace') c
        join loci_data.namespaces s on s.id = p_namespace_id
        where c.before is not null
    )
    select k.key, n.before -> 'settings' -> k.key, n.after -> 'settings' -> k.key, n.settings -> k.key
    from net n
    cross join lateral (select jsonb_object_keys((n.before -> 'settings') || (n.after -> 'settings')) as key) k
    where n.before -> 'settings' -> k.key is distinct from n.after -> 'settings' -> k.key
    union all
    select 'description', nullif(n.before -> 'description', 'null'), nullif(n.after -> 'description', 'null'), to_jsonb(n.description)
    from net n where n.after ? 'description'
$$;
comment on function loci.net_settings(integer, uuid) is 'Settings of the namespace that an operation changed. Internal.';
