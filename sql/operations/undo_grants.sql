-- Undo of grants and settings.

-- Give grants the state that they had before an operation: those that it gave are taken away, those that it changed or
-- took away come back. A grant that the caller could not give now (give_grant), or that an agent gave back itself,
-- comes back as an invitation. The fields of a removed grant stand in the change before.
-- The caller holds lock_grants. p_left: agents to leave alone. Returns how many. Errors: 23505 (the last admin).
create or replace function loci_internal.undo_grants(p_namespace_id integer, p_operation uuid, p_left uuid[])
returns integer
language plpgsql volatile set search_path = ''
as $$
declare
    v_net   record;
    v_was   record;
    v_old   loci_data.grants;
    v_count integer := 0;
begin
    for v_net in
        select n.* from loci_internal.net_changes(p_namespace_id, p_operation, 'grant') n
        where n.subject_id <> all (p_left) and not (n.created and n.erased) order by n.subject_id
    loop
        select g.* into v_old from loci_data.grants g where g.namespace_id = p_namespace_id
            and g.agent_id = v_net.subject_id;
        if v_net.created then
            delete from loci_data.grants g where g.namespace_id = p_namespace_id and g.agent_id = v_net.subject_id;
        elsif v_net.erased or v_old.agent_id is not null then
            select x.role, x.expires_at into v_was
            from loci_internal.grant_before_operation(p_namespace_id, p_operation, v_net.subject_id) x;
            perform loci_internal.give_grant(p_namespace_id, a.id, v_was.role, v_was.expires_at,
                                             loci_internal.manages_agent(a.id) and o.agent_id is distinct from a.id)
            from loci_data.agents a
            join loci_data.operations o on o.namespace_id = p_namespace_id and o.id = p_operation
            where a.id = v_net.subject_id and v_was.role is not null;
        end if;
        perform loci_internal.require_remaining_admin(p_namespace_id, v_old);
        v_count := v_count + 1;
    end loop;
    return v_count;
end $$;
comment on function loci_internal.undo_grants(integer, uuid, uuid[]) is
    'Make grants what they were before an operation; how many.';

-- What did the grant of an agent say before an operation? The changes until then decide, in order, since it was last
-- given; then what this one found. Index changes_subject.
create or replace function loci_internal.grant_before_operation(p_namespace_id integer, p_operation uuid, p_agent uuid)
returns table (role text, expires_at timestamptz)
language sql stable set search_path = ''
as $$
    with noted as (
        select 0 as place, c.position as nth, c.operation_id, c.action, c.before, c.after from loci_data.changes c
        where c.namespace_id = p_namespace_id and c.subject_id = p_agent and c.kind = 'grant'
        union all
        select 1, o.id, o.operation_id, o.action, o.before, o.after from loci_data.outbox o
        where o.namespace_id = p_namespace_id and o.subject_id = p_agent and o.kind = 'grant'
    ), until as (
        select n.* from noted n
        where (n.place, n.nth) < (select f.place, f.nth from noted f where f.operation_id = p_operation
                                  order by f.place, f.nth limit 1)
    ), standing as (
        select jsonb_object_agg(f.key, f.value order by u.place, u.nth) as fields
        from until u cross join lateral jsonb_each(u.after) f
        where (u.place, u.nth) >= (select g.place, g.nth from until g where g.action = 'created' order by g.place desc,
                                   g.nth desc limit 1)
    ), found as (
        select f.before from noted f where f.operation_id = p_operation order by f.place, f.nth limit 1
    )
    select w.fields ->> 'role', (w.fields ->> 'expires_at')::timestamptz
    from (select coalesce(s.fields, '{}') || coalesce(f.before, '{}') as fields from standing s cross join found f) w
$$;
comment on function loci_internal.grant_before_operation(integer, uuid, uuid) is
    'Fields of a grant before an operation.';

-- Edge types and settings of the namespace become what they were before an operation; an edge type that it wrote has
-- the defaults again. A rate or threshold that changes is in force for readers at once, and decaying:
-- recalculate_decay_batch has edges to bring in step with it. Settings that others changed since stay (p_skip_changed).
-- The namespace is locked (lock_undone). Returns how many. Errors: 22023 (a setting that is not valid any more).
create or replace function loci_internal.undo_settings(p_namespace_id integer, p_namespace text, p_operation uuid)
returns integer
language plpgsql volatile set search_path = ''
as $$
declare
    v_type  record;
    v_was   jsonb;
    v_count integer := 0;
begin
    for v_type in
        select n.after ->> 'type' as type,
               case when n.created then '{"decay_rate": null, "single_valued": false, "description": null}'
                   else n.before - 'type' end as fields
        from loci_internal.net_changes(p_namespace_id, p_operation, 'edge_type') n
        where n.after ->> 'type' <> all (array(select c.name
                                               from loci_internal.settings_changed_since(p_namespace_id, p_operation) c
                                               where c.kind = 'edge_type'))
        order by 1
    loop
        perform loci_api.set_edge_type(p_namespace, v_type.type, v_type.fields);
        v_count := v_count + 1;
    end loop;
    v_was := loci_internal.settings(p_namespace_id);
    update loci_data.namespaces n
    set settings = jsonb_strip_nulls(n.settings || f.settings), updated_at = clock_timestamp(),
        description = case when f.described then f.description #>> '{}' else n.description end
    from (select coalesce(jsonb_object_agg(s.name, coalesce(s.before, 'null')) filter (where s.name <> 'description'),
                          '{}') as settings,
                 bool_or(s.name = 'description') as described,
                 (array_agg(s.before) filter (where s.name = 'description'))[1] as description,
                 count(*) as count
          from loci_internal.net_setting_changes(p_namespace_id, p_operation) s
          where s.now is not distinct from s.after) f
    where n.id = p_namespace_id and f.count > 0;
    if found then
        perform loci_internal.check_settings((select n.settings from loci_data.namespaces n
                                              where n.id = p_namespace_id));
        v_count := v_count + 1;
    end if;
    if (v_was ->> 'decay_rate', v_was ->> 'edge_threshold') <> (select s ->> 'decay_rate', s ->> 'edge_threshold'
                                                                from loci_internal.settings(p_namespace_id) s) then
        perform loci_internal.enqueue_decay_change(p_namespace_id, null);
    end if;
    return v_count;
end $$;
comment on function loci_internal.undo_settings(integer, text, uuid) is
    'Make edge types and settings what they were before an operation; how many. Errors: 22023.';
